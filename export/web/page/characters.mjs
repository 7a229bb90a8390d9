/**
 * Unicode tables of the training tokenizer, read from the model file (written by export/android/characters.py).
 *
 * No browser has the tokenizer's Unicode data, so no method of String or Intl is used.
 */

import { asIntegers, wrong } from "./fields.mjs";

const CODE_POINTS = 0x110000;
const LONGEST_MAPPING = 19; // a code point, and the longest decomposition that Unicode has
const HIGHEST_CLASS = 254;
const HANGUL_FIRST = 0xac00;
const HANGUL_SYLLABLES = 11172;
const HANGUL_VOWELS = 21;
const HANGUL_TRAILS = 28;

/** Bits of a code point's properties, one for each table of ranges. */
export const REMOVED = 1; // cleaning removes it
export const SPACE = 2; // cleaning replaces it by a space
export const IDEOGRAPH = 4; // it gets a space on both sides
export const MARK = 8; // it is removed as an accent
export const WHITESPACE = 16;
export const PUNCTUATION = 32;
const RANGES = {
  removed: REMOVED,
  spaces: SPACE,
  ideographs: IDEOGRAPH,
  marks: MARK,
  whitespace: WHITESPACE,
  punctuation: PUNCTUATION,
};

/** Tables of characters.json. */
export class CharacterTables {
  /** Read the tables. Throws ModelFileError if one is missing, malformed or out of order. */
  constructor(json) {
    /** Properties of each code point, as bits. */
    this.properties = new Uint8Array(CODE_POINTS);
    /** Canonical combining class of each code point; 0 for one that does not combine. */
    this.combiningClasses = new Uint8Array(CODE_POINTS);
    for (const [name, bit] of Object.entries(RANGES)) this.#readRanges(json, name, bit);
    this.#readCombining(json);
    this.decompositions = readMapping(json, "decompositions");
    /** Map from a code point to its lower case, an Int32Array. */
    this.lowercase = readMapping(json, "lowercase");
    json.string("tokenizers"); // the version of the library, for people
  }

  #readRanges(json, name, bit) {
    let before = -1;
    for (const entry of json.list(name)) {
      const range = asIntegers(json.path(name), entry, 0, CODE_POINTS - 1);
      if (range.length !== 2 || range[0] <= before || range[1] < range[0]) {
        throw wrong(json.path(name), "ascending pairs [first, last]", entry);
      }
      for (let c = range[0]; c <= range[1]; c++) this.properties[c] |= bit;
      before = range[1];
    }
  }

  #readCombining(json) {
    let before = -1;
    for (const entry of json.list("combining")) {
      const range = asIntegers(json.path("combining"), entry, 0, CODE_POINTS - 1);
      const ascending = range.length === 3 && range[0] > before && range[1] >= range[0];
      if (!ascending || range[2] < 1 || range[2] > HIGHEST_CLASS) throw wrong(json.path("combining"), "ascending triples [first, last, class]", entry);
      this.combiningClasses.fill(range[2], range[0], range[1] + 1);
      before = range[1];
    }
  }

  /** Test for a character that belongs to the letter before it: an accent, U+200D (joiner) or U+FE0F (emoji style). */
  isMark(codePoint) {
    return codePoint === 0x200d || codePoint === 0xfe0f || (this.properties[codePoint] & MARK) !== 0;
  }

  /** Return the full canonical decomposition of a code point, or undefined if it has none. */
  decomposition(codePoint) {
    const syllable = codePoint - HANGUL_FIRST;
    if (syllable < 0 || syllable >= HANGUL_SYLLABLES) return this.decompositions.get(codePoint);
    // Unicode Standard, section 3.12: lead, vowel, trail. The first syllable of each group has no trail.
    const trail = syllable % HANGUL_TRAILS;
    const vowel = Math.floor(syllable / HANGUL_TRAILS) % HANGUL_VOWELS;
    const lead = Math.floor(syllable / HANGUL_TRAILS / HANGUL_VOWELS);
    const parts = [0x1100 + lead, 0x1161 + vowel];
    return trail === 0 ? parts : [...parts, 0x11a7 + trail];
  }
}

function readMapping(json, name) {
  const mapping = new Map();
  let before = -1;
  for (const item of json.list(name)) {
    const entry = asIntegers(json.path(name), item, 0, CODE_POINTS - 1);
    if (entry.length < 2 || entry.length > LONGEST_MAPPING || entry[0] <= before) {
      throw wrong(json.path(name), "ascending lists [from, to, ...]", item);
    }
    mapping.set(entry[0], entry.subarray(1));
    before = entry[0];
  }
  return mapping;
}
