/**
 * Normalizer of the training tokenizer. Every character keeps its UTF-16 range in the text.
 *
 * The steps are those of BertNormalizer in the tokenizers library, in its order: clean, ideographs, accents, lowercase.
 */

import { IDEOGRAPH, MARK, REMOVED, SPACE } from "./characters.mjs";

const REPLACEMENT = 0xfffd;
const BLANK = 0x20;

/** Code points, each with its UTF-16 range [start, end) in the text. */
export class Characters {
  constructor() {
    this.codePoints = [];
    this.starts = [];
    this.ends = [];
  }

  /** Return the code points of text[from, to). An unpaired surrogate becomes U+FFFD, because no tokenizer accepts it. */
  static of(text, from, to) {
    const characters = new Characters();
    for (let at = from; at < to; ) {
      const codePoint = text.codePointAt(at);
      const next = at + (codePoint > 0xffff ? 2 : 1);
      const lone = codePoint >= 0xd800 && codePoint <= 0xdfff;
      characters.add(lone ? REPLACEMENT : codePoint, at, next);
      at = next;
    }
    return characters;
  }

  get size() {
    return this.codePoints.length;
  }

  add(codePoint, start, end) {
    this.codePoints.push(codePoint);
    this.starts.push(start);
    this.ends.push(end);
  }
}

/** BertNormalizer with the switches of qa.json. */
export class BertNormalizer {
  constructor(switches, tables) {
    this.tables = tables;
    this.cleanText = switches.bool("clean_text");
    this.handleChineseChars = switches.bool("handle_chinese_chars");
    this.lowercase = switches.bool("lowercase");
    this.stripAccents = switches.isNull("strip_accents") ? this.lowercase : switches.bool("strip_accents");
  }

  /** Return the normalized characters. */
  normalize(characters) {
    if (this.cleanText) characters = this.#clean(characters);
    if (this.handleChineseChars) characters = this.#spaceIdeographs(characters);
    if (this.stripAccents) characters = this.#dropMarks(this.#decompose(characters));
    return this.lowercase ? this.#lower(characters) : characters;
  }

  #clean(input) {
    const output = new Characters();
    for (let i = 0; i < input.size; i++) {
      const c = input.codePoints[i];
      const properties = this.tables.properties[c];
      if (!(properties & REMOVED)) output.add(properties & SPACE ? BLANK : c, input.starts[i], input.ends[i]);
    }
    return output;
  }

  #spaceIdeographs(input) {
    const output = new Characters();
    for (let i = 0; i < input.size; i++) {
      const c = input.codePoints[i];
      const ideograph = this.tables.properties[c] & IDEOGRAPH;
      if (ideograph) output.add(BLANK, input.starts[i], input.ends[i]);
      output.add(c, input.starts[i], input.ends[i]);
      if (ideograph) output.add(BLANK, input.starts[i], input.ends[i]);
    }
    return output;
  }

  /**
   * Apply canonical decomposition (NFD). Adjacent marks are sorted by combining class.
   *
   * Offsets are assigned by position, as in the training tokenizer: an added character gets the offsets of the
   * character before it.
   */
  #decompose(input) {
    const parts = []; // [code point, whether it was added], in order
    let marks = []; // the same, marks that are not sorted yet
    const classes = this.tables.combiningClasses;
    const settle = () => {
      if (marks.length > 1) marks.sort((a, b) => classes[a[0]] - classes[b[0]]); // a stable sort
      for (const mark of marks) parts.push(mark);
      marks = [];
    };
    for (const c of input.codePoints) {
      const decomposition = c < 0x80 ? undefined : this.tables.decomposition(c);
      (decomposition ?? [c]).forEach((part, k) => {
        if (classes[part] === 0) {
          settle();
          parts.push([part, k > 0]);
        } else {
          marks.push([part, k > 0]);
        }
      });
    }
    settle();
    const output = new Characters();
    let next = 0; // the next character of `input` whose offsets are assigned
    for (const [codePoint, added] of parts) {
      const from = added ? next - 1 : next++;
      output.add(codePoint, from < 0 ? 0 : input.starts[from], from < 0 ? 0 : input.ends[from]);
    }
    return output;
  }

  #dropMarks(input) {
    const output = new Characters();
    for (let i = 0; i < input.size; i++) {
      const c = input.codePoints[i];
      if (!(this.tables.properties[c] & MARK)) output.add(c, input.starts[i], input.ends[i]);
    }
    return output;
  }

  #lower(input) {
    const output = new Characters();
    for (let i = 0; i < input.size; i++) {
      const c = input.codePoints[i];
      const lower = this.tables.lowercase.get(c);
      if (lower === undefined) {
        output.add(c, input.starts[i], input.ends[i]);
      } else {
        for (const part of lower) output.add(part, input.starts[i], input.ends[i]);
      }
    }
    return output;
  }
}
