/** Text from a file: UTF-8, or UTF-16 with a byte order mark; plain, or the text of HTML. */

const BLOCKS = "br, p, div, section, article, header, footer, h1, h2, h3, h4, h5, h6, li, dt, dd, tr, blockquote, pre";

/** Decode the bytes of a text file (Uint8Array). Throws Error, in words, if they are not text. */
export function decodeText(bytes) {
  const mark = bytes[0] === 0xff && bytes[1] === 0xfe ? "UTF-16LE" : bytes[0] === 0xfe && bytes[1] === 0xff ? "UTF-16BE" : "UTF-8";
  let text;
  try {
    text = new TextDecoder(mark, { fatal: true }).decode(bytes); // which drops the mark
  } catch {
    throw new Error(`The file is not ${mark} text. Save it as plain text in UTF-8.`);
  }
  if (text.includes("\0")) {
    throw new Error("The file contains zero bytes, so it is not plain text. Save it as plain text in UTF-8.");
  }
  return text;
}

/** Return the text of an HTML page, a line for each block. Nothing of the page runs or is loaded. */
export function htmlText(html) {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  for (const hidden of body.querySelectorAll("script, style, noscript, template")) hidden.remove();
  const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/\s+/g, " ");
  for (const cell of body.querySelectorAll("td, th")) cell.append(" ");
  for (const block of body.querySelectorAll(BLOCKS)) block.after("\n");
  return body.textContent.replace(/ *\n[ \n]*/g, "\n").trim();
}
