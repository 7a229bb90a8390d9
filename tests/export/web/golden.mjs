/** Files that Python recorded: tests/golden/android, the same for Python, Java and this page. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

import { Fields } from "../../../export/web/page/fields.mjs";
import { parsePackage } from "../../../export/web/page/package.mjs";

const GOLDEN = new URL("../../golden/android/", import.meta.url);
const SHIPPED = new URL("../../../models/student-tflite-int8/model.tflite", import.meta.url);

/** Text of a file, unpacked when its name ends in .gz. */
export function golden(name) {
  const bytes = readFileSync(new URL(name, GOLDEN));
  return (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf-8");
}

/** The recorded members of a package, with other values of qa.json. */
export function goldenPackage(changes = {}, members = {}) {
  const info = new Fields("qa.json", { ...JSON.parse(golden("package/qa.json")), ...changes });
  return parsePackage(info, {
    vocabulary: golden("package/vocab.txt"),
    characters: golden("package/characters.json"),
    probe: golden("package/probe.json"),
    ...members,
  });
}

/** Bytes of the model that comes with the project. */
export function shippedModel() {
  return new Uint8Array(readFileSync(SHIPPED));
}

/** For each UTF-16 offset of a text, the offset in code points. */
export function codePointOffsets(text) {
  const offsets = new Int32Array(text.length + 1);
  let count = 0;
  for (let at = 0; at < text.length; ) {
    const units = text.codePointAt(at) > 0xffff ? 2 : 1;
    offsets.fill(count, at, at + units);
    at += units;
    count++;
  }
  offsets[text.length] = count;
  return offsets;
}
