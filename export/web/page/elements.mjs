/** Elements of the page. */

/** Return the element with this id. */
export function element(id) {
  return document.getElementById(id);
}

/** Make an element with a text. */
export function textElement(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
