import assert from "node:assert/strict";
import { test } from "node:test";

import { Fields, ModelFileError } from "../../../export/web/page/fields.mjs";
import { parsePackage } from "../../../export/web/page/package.mjs";
import { TOLERANCES } from "../../../export/web/page/probe.mjs";
import { golden } from "./golden.mjs";

const rules = JSON.parse(golden("package_rules.json"));
const MEMBERS = { "qa.json": "info", "vocab.txt": "vocabulary", "characters.json": "characters", "probe.json": "probe" };
const recorded = Object.fromEntries(Object.entries(MEMBERS).map(([file, name]) => [name, golden(`package/${file}`)]));

/** Read the recorded package with other members (texts). */
function read(members) {
  const { info, ...texts } = { ...recorded, ...members };
  return parsePackage(Fields.parse("qa.json", info), texts);
}

/** Return JSON with the value at a path replaced, or removed where there is no `value`. */
function changed(text, { path, ...rule }) {
  const json = JSON.parse(text);
  const place = path.slice(0, -1).reduce((value, key) => value[key], json);
  if (Object.hasOwn(rule, "value")) place[path.at(-1)] = rule.value;
  else delete place[path.at(-1)];
  return JSON.stringify(json);
}

test("every rule that the app has holds", () => {
  for (const rule of rules.cases) {
    const name = MEMBERS[rule.member];
    const members = { [name]: changed(recorded[name], rule) };
    if (rule.accepted) assert.doesNotThrow(() => read(members), JSON.stringify(rule));
    else assert.throws(() => read(members), ModelFileError, JSON.stringify(rule));
  }
});

test("a file may be stricter than its precision, but not laxer", () => {
  assert.deepEqual(TOLERANCES, rules.tolerances);
  for (const { precision, tolerance, allowed } of rules.allowed) {
    const info = changed(recorded.info, { path: ["precision"], value: precision });
    const probe = changed(recorded.probe, { path: ["tolerance"], value: tolerance });
    assert.equal(read({ info, probe }).probe.tolerance, allowed, precision);
  }
});
