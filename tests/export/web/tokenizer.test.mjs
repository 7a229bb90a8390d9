import assert from "node:assert/strict";
import { test } from "node:test";

import { codePointOffsets, golden, goldenPackage } from "./golden.mjs";

const { tokenizer } = goldenPackage();

test("every recorded text has the training tokenizer's ids and offsets", () => {
  const rows = JSON.parse(golden("tokens.json.gz"));
  assert.ok(rows.length >= 1700, `${rows.length} texts`);
  for (const { text, ids, starts, ends } of rows) {
    const tokens = tokenizer.encode(text);
    const offsets = codePointOffsets(text);
    const seen = [tokens.ids, tokens.starts.map((at) => offsets[at]), tokens.ends.map((at) => offsets[at])];
    assert.deepEqual(seen, [ids, starts, ends], JSON.stringify(text));
  }
});

test("an answer keeps the accent behind its last letter", () => {
  for (const { text, answer_ends: recorded } of JSON.parse(golden("accents.json"))) {
    const tokens = tokenizer.encode(text);
    tokens.moveEndsOverMarks(text, tokenizer.tables);
    const offsets = codePointOffsets(text);
    assert.deepEqual(
      tokens.ends.map((at) => offsets[at]),
      recorded,
      JSON.stringify(text),
    );
  }
});

test("a text longer than a piece has the tokens of its words, in order", () => {
  const words = Array.from({ length: 30_000 }, (_, i) => `word${i}`);
  const text = words.join(" ");
  assert.ok([...tokenizer.pieces(text)].length > 2);
  assert.deepEqual(
    tokenizer.encode(text).ids,
    words.flatMap((word) => tokenizer.encode(word).ids),
  );
});

test("a word that no piece may split stays whole, and becomes unknown", () => {
  const text = "x".repeat(200_000);
  const tokens = tokenizer.encode(text);
  assert.deepEqual([tokens.ids, tokens.starts, tokens.ends], [[tokenizer.unknownId], [0], [200_000]]);
});

test("half a surrogate pair is a letter like any other", () => {
  assert.deepEqual(tokenizer.encode("a \ud83d b").starts, tokenizer.encode("a \ufffd b").starts);
});

test("a million marks are sorted in time", () => {
  assert.equal(tokenizer.encode("a" + "\u0323\u0301".repeat(500_000)).size, 1);
});
