import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { QuestionAnswerer } from "../../../export/web/page/answerer.mjs";
import { ModelFileError } from "../../../export/web/page/fields.mjs";
import { readPackage } from "../../../export/web/page/package.mjs";
import { relativeDifference } from "../../../export/web/page/probe.mjs";
import { decodeText } from "../../../export/web/page/textfile.mjs";
import { golden, goldenPackage, shippedModel } from "./golden.mjs";

const shipped = shippedModel();
const info = JSON.parse(golden("package/qa.json"));
const probe = JSON.parse(golden("package/probe.json"));

/** A copy of the shipped file with one bit turned. */
function flipped(at) {
  const bytes = shipped.slice();
  bytes[at] ^= 0x40;
  return bytes;
}

test("the shipped file is accepted, and its model ends where the package begins", async () => {
  const model = await readPackage(shipped);
  assert.deepEqual(
    model.signatures.map((s) => [s.name, s.length, s.anyLength]),
    [["qa", 384, true]],
  );
  assert.equal(model.facts.precision, "int8");
  assert.equal(model.probe.windows.length >= model.signatures.length, true);
  const end = Buffer.from(shipped).indexOf("PK\x03\x04", model.model.length - 4);
  assert.equal(model.model.length, end);
});

test("damaged files are refused in one line of words", async () => {
  const faults = [
    [new Uint8Array(0), /The file is empty/],
    [new TextEncoder().encode("This is a note.\n".repeat(20)), /not a TFLite model/],
    [shipped.subarray(0, 1_000_000), /no package at its end/],
    [shipped.subarray(0, shipped.length - 2000), /no package at its end/],
    [flipped(200_000), /SHA-256/],
    [flipped(shipped.length - 22 - 150), /characters.json|damaged/],
  ];
  for (const [bytes, message] of faults) {
    await assert.rejects(readPackage(bytes), (error) => message.test(error.message) && !error.message.includes("\n"));
  }
});

test("a changed byte of the package is noticed, or changes nothing that is read", async () => {
  const { model, facts, settings, signatures } = await readPackage(shipped);
  for (let at = model.length; at < shipped.length; at += 3001) {
    try {
      const read = await readPackage(flipped(at));
      assert.deepEqual([read.facts, read.settings, read.signatures], [facts, settings, signatures], `byte ${at}`);
    } catch (error) {
      assert.ok(error instanceof ModelFileError, `byte ${at}: ${error}`);
    }
  }
});

test("what a package must hold is asked for by name", () => {
  const settings = (changes) => ({ settings: { ...info.settings, ...changes } });
  const window = probe.windows[0];
  const faults = [
    [{ format: 1 }, {}, /format 1/],
    [{ precision: "int9" }, {}, /precision.*int9/],
    [{ name: "bank\u202emodel" }, {}, /name/],
    [{ name: "two\nlines" }, {}, /name/],
    [{ inputs: ["input_ids", "pixel_values"] }, {}, /pixel_values/],
    [settings({ n_best: "x" }), {}, /n_best/],
    [settings({ n_best: 257 }), {}, /n_best/],
    [settings({ max_length: info.settings.max_question_length + 4 }), {}, /max_length/],
    [settings({ null_threshold: Infinity }), {}, /null_threshold/],
    [{ signatures: info.signatures.slice(0, 2) }, {}, /signatures.*384/],
    [{ signatures: info.signatures.toReversed() }, {}, /signatures/],
    [{}, { vocabulary: "[PAD]\n[UNK]\n" }, /vocab\.txt/],
    [{}, { vocabulary: golden("package/vocab.txt") + "[PAD]\n" }, /vocab\.txt.*twice/],
    [{}, { characters: "{}" }, /characters\.json: removed/],
    [{}, { characters: golden("package/characters.json").replace('"marks":[[', '"marks":[[9],[') }, /marks/],
    [{}, { probe: "[" }, /probe\.json/],
    [{}, { probe: JSON.stringify({ windows: [window] }) }, /no window for the signature qa192/],
    [{}, { probe: JSON.stringify({ windows: [{ ...window, start_logits: [1] }] }) }, /as long as their logits/],
  ];
  for (const [changes, members, message] of faults) {
    assert.throws(() => goldenPackage(changes, members), message, JSON.stringify(changes));
  }
});

/** Answerer whose runtime gives the recorded logits, plus what `change` makes of one. */
function recorded(change, members = {}) {
  const { tokenizer, ...model } = goldenPackage({}, members);
  return new QuestionAnswerer({ ...model, tokenizer }, (signature, ids, mask) => {
    const n = mask.reduce((sum, value) => sum + value, 0);
    const window = model.probe.windows.find((w) => w.inputIds.length === n && w.inputIds.every((id, i) => id === ids[i]));
    const logits = (values) => new Float32Array(signature.length).map((_, i) => change(values[i] ?? 0));
    return { startLogits: logits(window.startLogits), endLogits: logits(window.endLogits) };
  });
}

test("a runtime that computes wrongly is refused, whatever tolerance a file asks for", async () => {
  const easy = JSON.stringify({ ...probe, tolerance: { int8: 1e9 } });
  assert.equal(await recorded((x) => x).checkProbe(), 0);
  await assert.rejects(recorded((x) => 3 - x).checkProbe(), /computes this int8 model wrongly.*0\.250 is allowed/);
  await assert.rejects(recorded((x) => 3 - x, { probe: easy }).checkProbe(), /0\.250 is allowed/);
  await assert.rejects(recorded(() => NaN).checkProbe(), /Infinity/);
  const strict = JSON.stringify({ ...probe, tolerance: { int8: 0.001 } });
  await assert.rejects(recorded((x) => 1.01 * x, { probe: strict }).checkProbe(), /0\.00100 is allowed/);
});

test("the difference is the root mean square over the reference's deviation", () => {
  assert.equal(relativeDifference([1, 3], [2, 4]), 1);
  assert.equal(relativeDifference([1, 3], [1, NaN]), Infinity);
});

test("text files are UTF-8, or UTF-16 with a mark", () => {
  const utf16 = (mark, swap) => {
    const bytes = Buffer.from("\ufeffhé東", "utf16le");
    return new Uint8Array(swap ? bytes.swap16() : bytes);
  };
  for (const bytes of [new TextEncoder().encode("hé東"), new TextEncoder().encode("\ufeffhé東"), utf16(), utf16(0, true)]) {
    assert.equal(decodeText(bytes), "hé東");
  }
  assert.throws(() => decodeText(new Uint8Array([0x68, 0xe9, 0x20])), /not UTF-8 text/);
  assert.throws(() => decodeText(new Uint8Array([0x68, 0, 0x20])), /zero bytes/);
});

test("the npm package exports what docs/in-your-app.md imports", async () => {
  const folder = new URL("../../../export/web/", import.meta.url);
  const { exports } = JSON.parse(readFileSync(new URL("package.json", folder)));
  const page = readFileSync(new URL("../../docs/in-your-app.md", folder), "utf8");
  const imports = [...page.matchAll(/import \{ (.+) \} from "pocketqa(.+)"/g)];
  assert.equal(imports.length, Object.keys(exports).length);
  for (const [line, names, path] of imports) {
    const module = await import(new URL(exports[`.${path}`], folder).href);
    for (const name of names.split(", ")) assert.ok(name in module, line);
  }
});
