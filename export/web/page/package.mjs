/** Package of a sideloaded .tflite: the zip at its end, read and checked (written by export/android/package.py). */

import { CharacterTables } from "./characters.mjs";
import { Fields, ModelFileError, shown, wrong } from "./fields.mjs";
import { Probe, TOLERANCES } from "./probe.mjs";
import { WordPieceTokenizer } from "./tokenizer.mjs";
import { ZipTail } from "./zip.mjs";

export { ModelFileError } from "./fields.mjs";

const FORMAT = 2;
export const INPUTS = ["input_ids", "attention_mask", "token_type_ids"];
export const OUTPUTS = ["start_logits", "end_logits"];
const MAGIC = "TFL3";
// A damaged or hostile file must not fill the memory. A vocabulary of 250,000 tokens takes 2 MB, the others 100 KB.
const MOST_VOCABULARY_BYTES = 4_000_000;
const MOST_TOKENS = 250_000;
const MOST_JSON_BYTES = 500_000;
const MOST_LENGTH = 8192;
const MOST_ANSWERS = 256;

/**
 * Read and verify a packaged file (Uint8Array). Throws ModelFileError with a message for the user.
 *
 * Returns {facts, settings, signatures, tokenizer, probe, model}; `model` are the bytes of the .tflite.
 */
export async function readPackage(bytes) {
  checkMagic(bytes);
  const zip = new ZipTail(bytes);
  const info = Fields.parse("qa.json", await zip.text("qa.json", MOST_JSON_BYTES));
  checkFormat(info); // before anything else: other formats have other members
  const parts = parsePackage(info, {
    vocabulary: await zip.text("vocab.txt", MOST_VOCABULARY_BYTES),
    characters: await zip.text("characters.json", MOST_JSON_BYTES),
    probe: await zip.text("probe.json", MOST_JSON_BYTES),
  });
  const size = info.object("model").count("bytes");
  const model = bytes.subarray(0, size);
  if (size !== zip.begin || (await sha256(model)) !== info.object("model").string("sha256")) {
    throw new ModelFileError(
      "The model was damaged after it was exported (its SHA-256 is not the one recorded). Copy the file again.",
    );
  }
  return { ...parts, model };
}

/** Read the members of a package: `info` is qa.json as Fields, the others are texts. */
export function parsePackage(info, { vocabulary, characters, probe }) {
  checkFormat(info);
  const facts = readFacts(info);
  const settings = readSettings(info.object("settings"));
  checkTensors("inputs", info.list("inputs"), INPUTS);
  checkTensors("outputs", info.list("outputs"), OUTPUTS);
  const signatures = readSignatures(info, settings.maxLength);
  const tables = new CharacterTables(Fields.parse("characters.json", characters));
  const tokenizer = new WordPieceTokenizer(info, lines(vocabulary), tables);
  const probeJson = Fields.parse("probe.json", probe);
  return {
    facts,
    settings,
    signatures,
    tokenizer,
    probe: new Probe(probeJson, facts.precision, signatures, tokenizer.vocabularySize),
  };
}

function checkMagic(bytes) {
  if (bytes.length === 0) throw new ModelFileError("The file is empty. Copy it again.");
  if (bytes.length < 8 || String.fromCharCode(...bytes.subarray(4, 8)) !== MAGIC) {
    throw new ModelFileError("This is not a TFLite model. Choose a model.tflite that python -m export.tflite made.");
  }
}

function checkFormat(info) {
  const format = info.integer("format", 0, MOST_LENGTH);
  if (format !== FORMAT) {
    throw new ModelFileError(
      `The package has format ${format}, this page reads ${FORMAT}. Export the model again, or update the page.`,
    );
  }
}

function readFacts(info) {
  const precision = info.shortString("precision");
  if (!Object.hasOwn(TOLERANCES, precision)) {
    throw wrong("qa.json: precision", `one of ${Object.keys(TOLERANCES).join(", ")}`, precision);
  }
  return {
    name: info.shortString("name"),
    precision,
    parameters: info.object("parameters").count("total"),
  };
}

/** Read the settings in qa.json. */
export function readSettings(json) {
  const maxQuestionLength = json.integer("max_question_length", 1, MOST_LENGTH);
  return {
    maxQuestionLength,
    // Space for [CLS], two or three separators and one passage token besides the longest question.
    maxLength: json.integer("max_length", maxQuestionLength + 5, MOST_LENGTH),
    docStride: json.integer("doc_stride", 1, MOST_LENGTH),
    nBest: json.integer("n_best", 1, MOST_ANSWERS),
    maxAnswerLength: json.integer("max_answer_length", 1, MOST_LENGTH),
    nullThreshold: json.isNull("null_threshold") ? null : json.number("null_threshold"),
    /** No-answer threshold of mode strict; null if the file has none. */
    strictThreshold: json.has("strict_threshold") ? json.number("strict_threshold") : null,
    /** {temperature, offset}; null if the file has none: percentages are softmax scores then. */
    calibration: json.has("calibration") ? readCalibration(json.object("calibration")) : null,
  };
}

function readCalibration(json) {
  const temperature = json.number("temperature");
  if (!(temperature > 0)) throw wrong(json.path("temperature"), "above 0", temperature);
  return { temperature, offset: json.number("offset") };
}

function checkTensors(what, names, supported) {
  if (JSON.stringify(names) !== JSON.stringify(supported)) {
    throw new ModelFileError(
      `The model has the ${what} ${shown(names)}, but this page supports ${supported.join(", ")}. ` +
        "Choose a PocketQA model.",
    );
  }
}

/** Return [{name, length, anyLength}], ascending by length; the last fits the longest window. */
function readSignatures(info, maxLength) {
  let before = 0;
  const signatures = info.list("signatures").map((item) => {
    const json = new Fields("qa.json: signatures", item);
    before = json.integer("length", before + 1, maxLength);
    const anyLength = json.has("any_length") && json.bool("any_length");
    return { name: json.string("name"), length: before, anyLength };
  });
  if (before !== maxLength) {
    throw wrong("qa.json: signatures", `ascending up to the longest window, ${maxLength}`, before);
  }
  return signatures;
}

function lines(text) {
  const tokens = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  if (tokens.length > MOST_TOKENS) throw wrong("vocab.txt", `at most ${MOST_TOKENS} tokens`, tokens.length);
  return tokens;
}

/** Throw Error, in words, where the browser offers no SHA-256: in pages that come neither over https nor from localhost. */
export function checkSecure() {
  if (!crypto.subtle) {
    throw new Error("The page must come over https: else the browser offers no SHA-256 to check the model with.");
  }
}

async function sha256(bytes) {
  checkSecure();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
