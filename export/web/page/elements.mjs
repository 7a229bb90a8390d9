/** Elements of the page. */

/** Return the element with this id. */
export function element(id) {
  return document.getElementById(id);
}

/** Scroll the question to the top, unless it and an element below it are in view. A phone's keyboard hides a part. */
export function bringIntoView(shown) {
  const asking = element("asking");
  const { offsetTop, height } = visualViewport;
  const { top } = asking.getBoundingClientRect();
  if (top < offsetTop || shown.getBoundingClientRect().bottom > offsetTop + height) asking.scrollIntoView();
}

/** Make an element with a text. */
export function textElement(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** Make an item of a list of choices: a button with a text and, in grey, a remark. */
export function choice(text, remark, choose) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(textElement("span", text), textElement("span", remark));
  button.addEventListener("click", choose);
  const item = document.createElement("li");
  item.append(button);
  return { item, button };
}
