/**
 * The page's core as a process: `node core_server.mjs model.tflite`, commands on stdin, replies on stdout.
 *
 * It has no LiteRT: for each window it asks whoever started it for the logits. The letters are those of the Android
 * core (android_demo/core/src/tools/java/org/pocketqa/tools/CoreServer.java), so export/android/core_process.py speaks
 * to both. Numbers are big-endian, offsets count code points.
 */

import { readFileSync, readSync, writeSync } from "node:fs";

import { QuestionAnswerer } from "../../../export/web/page/answerer.mjs";
import { readPackage } from "../../../export/web/page/package.mjs";
import { codePointOffsets } from "./golden.mjs";

const [STDIN, STDOUT] = [0, 1];
const ENDED = Symbol("stdin ended");

function read(n) {
  const bytes = Buffer.alloc(n);
  for (let at = 0; at < n; ) {
    const more = readSync(STDIN, bytes, at, n - at, null);
    if (more === 0) throw ENDED;
    at += more;
  }
  return bytes;
}

/** A text as UTF-16: half a surrogate pair has no UTF-8. */
function readText() {
  return read(2 * read(4).readInt32BE()).swap16().toString("utf16le");
}

function send(...parts) {
  const bytes = Buffer.concat(parts);
  for (let at = 0; at < bytes.length; ) at += writeSync(STDOUT, bytes, at);
}

const letter = (character) => Buffer.from(character, "latin1");
const integers = (values) => Buffer.from(Int32Array.from(values).buffer).swap32();
const doubles = (...values) => Buffer.from(Float64Array.from(values).buffer).swap64();

function sendError(error) {
  const text = Buffer.from(error.message);
  send(letter("E"), integers([text.length]), text);
}

function compute(signature, ids, mask, types) {
  const name = Buffer.from(signature.name);
  const header = Buffer.from([name.length >> 8, name.length & 0xff]);
  send(letter("R"), header, name, integers([signature.length]), integers(ids), integers(mask), integers(types));
  const bytes = read(8 * signature.length).swap32();
  const logits = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  return { startLogits: logits.subarray(0, signature.length), endLogits: logits.subarray(signature.length) };
}

function sendTokens(tokenizer, text) {
  const tokens = tokenizer.encode(text);
  const offsets = codePointOffsets(text);
  const values = tokens.ids.flatMap((id, i) => [id, offsets[tokens.starts[i]], offsets[tokens.ends[i]]]);
  send(letter("T"), integers([tokens.size, ...values]));
}

async function sendAnswer(answerer) {
  const passage = readText();
  const question = readText();
  const readAll = read(1)[0] === 1;
  const answer = await answerer.ask(passage, question, { readAll });
  const offsets = codePointOffsets(passage);
  const row = (c) => [doubles(c.score), integers([offsets[c.start], offsets[c.end]]), doubles(c.share)];
  const rows = answer.candidates.map(row);
  const header = integers([answer.windows, answer.windowsInText]);
  const answered = Buffer.from([answer.answered ? 1 : 0]);
  send(letter("A"), header, answered, doubles(answer.nullScore), integers([rows.length]), ...rows.flat());
}

async function sendProbe(answerer) {
  try {
    send(letter("P"), doubles(await answerer.checkProbe()));
  } catch (error) {
    if (error === ENDED) throw error;
    sendError(error);
  }
}

async function serve(path) {
  let model;
  try {
    model = await readPackage(new Uint8Array(readFileSync(path)));
  } catch (error) {
    sendError(error);
    return;
  }
  const answerer = new QuestionAnswerer(model, compute);
  send(letter("M"));
  for (;;) {
    const command = read(1).toString("latin1");
    if (command === "T") sendTokens(model.tokenizer, readText());
    else if (command === "P") await sendProbe(answerer);
    else if (command === "Q") await sendAnswer(answerer);
    else throw new Error(`unknown command ${command}`);
  }
}

await serve(process.argv[2]).catch((error) => {
  if (error !== ENDED) throw error;
});
