/** The training tokenizer: normalize, split at whitespace and punctuation, then WordPiece (longest match first). */

import { PUNCTUATION, REMOVED, WHITESPACE } from "./characters.mjs";
import { wrong } from "./fields.mjs";
import { BertNormalizer, Characters } from "./normalizer.mjs";

const PIECE = 1 << 16;
const MOST_TOKENS = 250_000;
const LONGEST_WORD = 1000; // BERT has 100; the time per word grows with the cube of its length

/** Token ids of a text, each with its UTF-16 range [start, end). */
export class Tokens {
  constructor() {
    this.ids = [];
    this.starts = [];
    this.ends = [];
  }

  get size() {
    return this.ids.length;
  }

  add(id, start, end) {
    this.ids.push(id);
    this.starts.push(start);
    this.ends.push(end);
  }

  /** Move the ends of the tokens over the marks that follow them in the text, as qa/text/marks.py does. */
  moveEndsOverMarks(text, tables) {
    let at = 0;
    this.ends = this.ends.map((end) => {
      at = Math.max(at, end); // between the end before and `at` there are only marks
      while (at < text.length && tables.isMark(text.codePointAt(at))) at += text.codePointAt(at) > 0xffff ? 2 : 1;
      return at;
    });
  }

  /** Remove all tokens from index `size` on. */
  truncate(size) {
    this.ids.length = size;
    this.starts.length = size;
    this.ends.length = size;
  }
}

/** WordPiece tokenizer with BERT's normalizer and splitter. */
export class WordPieceTokenizer {
  /** Read `info` (Fields of qa.json); `tokens` is the vocabulary in the order of ids. */
  constructor(info, tokens, tables) {
    this.tables = tables;
    this.normalizer = new BertNormalizer(info.object("normalizer"), tables);
    const wordPiece = info.object("wordpiece");
    this.prefix = wordPiece.string("continuing_subword_prefix");
    this.longestWord = wordPiece.integer("max_input_chars_per_word", 1, LONGEST_WORD);
    this.vocabulary = new Map();
    this.longestToken = 1; // in code points; longer pieces are not in the vocabulary
    tokens.forEach((token, id) => {
      if (this.vocabulary.has(token)) throw wrong("vocab.txt", "a list of different tokens", `${token}, twice`);
      this.vocabulary.set(token, id);
      if (token.length > this.longestToken) this.longestToken = Math.max(this.longestToken, [...token].length);
    });
    const special = info.object("special_tokens");
    this.clsId = this.#specialId(special, "[CLS]");
    this.sepId = this.#specialId(special, "[SEP]");
    this.padId = this.#specialId(special, "[PAD]");
    this.unknownId = this.#specialId(special, "[UNK]");
  }

  #specialId(special, token) {
    const id = special.integer(token, 0, MOST_TOKENS);
    if (this.vocabulary.get(token) !== id) {
      throw wrong(`vocab.txt: the line of ${token}`, String(id + 1), (this.vocabulary.get(token) ?? -1) + 1 || "missing");
    }
    return id;
  }

  get vocabularySize() {
    return this.vocabulary.size;
  }

  /** Return the tokens of a text, without special tokens. "[SEP]" in a text is plain text. */
  encode(text) {
    const tokens = new Tokens();
    for (const piece of this.pieces(text)) this.encodePiece(text, piece, tokens);
    return tokens;
  }

  /** Yield ranges [from, to) that cover the text. No word, and no letter with its marks, is split. */
  *pieces(text) {
    for (let from = 0; from < text.length; ) {
      let to = Math.min(text.length, from + PIECE);
      while (to < text.length && !this.#endsWords(text.charCodeAt(to - 1))) to++;
      yield [from, to];
      from = to;
    }
  }

  #endsWords(unit) {
    const properties = this.tables.properties[unit];
    return properties & (WHITESPACE | PUNCTUATION) && !(properties & REMOVED);
  }

  /** Add the tokens of text[from, to). */
  encodePiece(text, [from, to], tokens) {
    const characters = this.normalizer.normalize(Characters.of(text, from, to));
    let wordAt = 0;
    for (let i = 0; i < characters.size; i++) {
      const properties = this.tables.properties[characters.codePoints[i]];
      if (properties & (WHITESPACE | PUNCTUATION)) {
        this.#addWord(characters, wordAt, i, tokens);
        if (!(properties & WHITESPACE)) this.#addWord(characters, i, i + 1, tokens);
        wordAt = i + 1;
      }
    }
    this.#addWord(characters, wordAt, characters.size, tokens);
  }

  /** Add the pieces of the word [from, to), or one [UNK] if it is too long or has an unknown part. */
  #addWord(characters, from, to, tokens) {
    if (from === to) return;
    const before = tokens.size;
    if (to - from <= this.longestWord) {
      const letters = characters.codePoints.slice(from, to).map((c) => String.fromCodePoint(c));
      let at = 0;
      while (at < letters.length) {
        const [id, end] = this.#longestMatch(letters, at);
        if (id === undefined) break;
        tokens.add(id, characters.starts[from + at], characters.ends[from + end - 1]);
        at = end;
      }
      if (at === letters.length) return;
      tokens.truncate(before);
    }
    tokens.add(this.unknownId, characters.starts[from], characters.ends[to - 1]);
  }

  /** Return the id and the end of the longest piece at `at`; undefined if there is none. */
  #longestMatch(letters, at) {
    let end = Math.min(letters.length, at + this.longestToken);
    let piece = (at > 0 ? this.prefix : "") + letters.slice(at, end).join("");
    for (; end > at; end--) {
      const id = this.vocabulary.get(piece);
      if (id !== undefined) return [id, end];
      piece = piece.slice(0, piece.length - letters[end - 1].length);
    }
    return [undefined, at];
  }
}
