/** Text from a file: UTF-8, or UTF-16 with a byte order mark. */

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
