/** Text from a file: UTF-8, or UTF-16 with a byte order mark; plain, or the text of HTML. */

const BLOCKS = "br, p, div, section, article, header, footer, h1, h2, h3, h4, h5, h6, li, dt, dd, tr, blockquote, pre";
// Tags that can stand within a word, as in qa/documents.py.
const INLINE =
  "a, abbr, b, bdi, bdo, cite, code, del, em, font, i, ins, kbd, mark, q, rb, rp, rt, ruby, " +
  "s, samp, small, span, strong, sub, sup, time, tt, u, var, wbr";
const HIDDEN = "noscript, rp, rt, script, style, template, title"; // also there
const HTML_NAME = /\.x?html?$/i;
const HTML_START = /^\s*(<\?xml[^>]*>\s*)?(<!doctype html|<html)/i;
const BEFORE_HTML = /^\s*(<\?xml[^>]*>)?\s*(<!doctype[^>]*>)?/i;
const XHTML = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "">'; // with it, browsers know &nbsp; and the like
const XHTML_START = /^\s*(<\?xml[^>]*>\s*)?(<!doctype[^>]*>\s*)?<html[^>]*\sxmlns=/i;

/** Decode the bytes of a text file (Uint8Array). Throws Error, in words, if they are not text. */
export function decodeText(bytes) {
  const mark = bytes[0] === 0xff && bytes[1] === 0xfe ? "UTF-16LE" : bytes[0] === 0xfe && bytes[1] === 0xff ? "UTF-16BE" : "UTF-8";
  let text;
  try {
    text = new TextDecoder(mark, { fatal: true }).decode(bytes); // which drops the mark
  } catch {
    throw new Error(`The file is not ${mark} text. Save it as plain text in UTF-8.`);
  }
  if (/\x1b(\$|\([IJ])/.test(text)) throw new Error("The file is ISO-2022 text. Save it as plain text in UTF-8."); // which is ASCII
  if (text.includes("\0")) {
    throw new Error("The file contains zero bytes, so it is not plain text. Save it as plain text in UTF-8.");
  }
  return text;
}

/** Return whether a text is HTML, by the name of its file or by its first tag. */
export function isHtml(name, text) {
  return HTML_NAME.test(name) || HTML_START.test(text);
}

/** Return the body of a page: in XHTML, a tag such as <title/> is closed. What is called XHTML and is none is read as HTML. */
function bodyOf(html) {
  const parser = new DOMParser();
  const named = html.replace(BEFORE_HTML, `$1${XHTML}`);
  const parsed = XHTML_START.test(html) ? parser.parseFromString(named, "application/xhtml+xml") : null;
  const isWhole = parsed?.body && !parsed.querySelector("parsererror"); // an error may stand before <head>, the body be cut there
  return (isWhole ? parsed : parser.parseFromString(html, "text/html")).body;
}

/** Return the text of an HTML page, a line for each block. Nothing of the page runs or is loaded. */
export function htmlText(html) {
  const body = bodyOf(html);
  const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/[^\S\ufeff]+/g, " "); // as in Python, a byte order mark is no space
  for (const parting of body.querySelectorAll(`:not(${INLINE})`)) {
    const gap = parting.matches(BLOCKS) ? "\n" : " ";
    parting.before(gap);
    parting.after(gap);
  }
  for (const hidden of body.querySelectorAll(HIDDEN)) hidden.remove();
  return body.textContent.replace(/ +/g, " ").replace(/ ?\n[ \n]*/g, "\n").trim();
}
