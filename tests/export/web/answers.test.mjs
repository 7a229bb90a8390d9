import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { headline, leftOut } from "../../../export/web/page/answer.mjs";
import { QuestionAnswerer } from "../../../export/web/page/answerer.mjs";
import {
  answerProbabilities,
  Decoder,
  isAnswered,
  largest,
  noAnswerProbability,
  thresholdOf,
} from "../../../export/web/page/decoder.mjs";
import { Fields } from "../../../export/web/page/fields.mjs";
import { readSettings } from "../../../export/web/page/package.mjs";
import { chooseWindows } from "../../../export/web/page/preselection.mjs";
import { makeWindows } from "../../../export/web/page/windows.mjs";
import { codePointOffsets, golden, goldenPackage } from "./golden.mjs";

const model = goldenPackage();
const { contexts, thresholds, questions } = JSON.parse(golden("answers.json.gz"));

function near(seen, wanted, where) {
  assert.equal(seen.length, wanted.length, where);
  seen.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) < 1e-12, `${where}: ${value}, in Python ${wanted[i]}`));
}

/** Padded logits of a recorded window, once the window that is asked for is the recorded one. */
function replay(windows, id) {
  let next = 0;
  return (signature, ids, mask, types) => {
    const { input_ids: recorded, start_logits: start, end_logits: end } = windows[next++];
    const padding = new Array(signature.length - recorded.length);
    assert.deepEqual([...ids], [...recorded, ...padding.fill(0)], `${id}: tokens of window ${next}`);
    assert.deepEqual([...mask], [...recorded.map(() => 1), ...padding.fill(0)], `${id}: mask of window ${next}`);
    const begin = recorded.indexOf(model.tokenizer.sepId) + 1;
    assert.equal(types.indexOf(1), begin, `${id}: context of window ${next}`);
    const wrong = padding.fill(1000); // which must not be looked at
    return { startLogits: new Float32Array([...start, ...wrong]), endLogits: new Float32Array([...end, ...wrong]) };
  };
}

test("every recorded question has Python's windows, answers and decisions", async () => {
  assert.equal(questions.length, 535);
  for (const question of questions) {
    const passage = contexts[question.context];
    const offsets = codePointOffsets(passage);
    const answerer = new QuestionAnswerer(model, replay(question.windows, question.id));
    const answer = await answerer.ask(passage, question.question, { readAll: true });
    const seen = answer.candidates.map((c) => [c.score, offsets[c.start], offsets[c.end]]);
    const wanted = question.candidates;
    assert.deepEqual(seen, wanted.map(([score, start, end]) => [score, start, end]), question.id);
    const shares = answer.candidates.map((c) => c.share);
    near(shares, wanted.map((candidate) => candidate[3]), question.id);
    assert.deepEqual([answer.windows, answer.nullScore], [question.windows.length, question.null_score], question.id);
    const answered = thresholds.map((threshold) => isAnswered(answer.candidates, answer.nullScore, threshold));
    assert.deepEqual(answered, question.answered, question.id);
  }
});

test("of long passages the recorded windows are read", () => {
  const known = new Map();
  for (const row of JSON.parse(golden("preselection.json"))) {
    const key = row.contexts.join();
    if (!known.has(key)) known.set(key, model.tokenizer.encode(row.contexts.map((i) => contexts[i]).join("\n")));
    const passage = known.get(key);
    const ids = model.tokenizer.encode(row.question).ids.slice(0, model.settings.maxQuestionLength);
    const all = makeWindows(ids.length, passage.size, model.settings);
    const chosen = chooseWindows(ids, passage, all);
    assert.deepEqual([all.length, chosen.map((w) => w.firstToken)], [row.windows, row.first_tokens], row.question);
  }
});

test("a token belongs to the window that sees it with most context, of equals to the first", () => {
  const settings = { maxLength: 9, docStride: 3 }; // 9 - ([CLS] 1 [SEP]) - [SEP] leaves 5 tokens of the passage
  const windows = makeWindows(1, 8, settings);
  assert.deepEqual(
    windows.map((w) => [w.firstToken, w.tokenCount, w.size]),
    [
      [0, 5, 9],
      [3, 5, 9],
    ],
  );
  const owned = windows.map((w) => Array.from({ length: w.tokenCount }, (_, k) => w.hasMaxContext(k)));
  assert.deepEqual(owned, [
    [true, true, true, true, false],
    [false, true, true, true, true],
  ]);
});

test("equal scores go to the earlier start, then to the earlier end", () => {
  const passage = { starts: [0, 2, 4], ends: [1, 3, 5] };
  const decoder = new Decoder(passage, { nBest: 3, maxAnswerLength: 2 });
  const [window] = makeWindows(1, 3, { maxLength: 9, docStride: 3 });
  const logits = new Float32Array([-1, 9, 9, 2, 2, 2, 9]);
  decoder.add(window, logits, logits);
  const seen = decoder.candidates();
  assert.deepEqual(
    seen.map((c) => [c.score, c.start, c.end]),
    [
      [4, 0, 1],
      [4, 2, 3],
      [4, 4, 5],
    ],
  );
  // Five spans of one score: 0-0 and 0-1, 1-1 and 1-2, 2-2.
  near(seen.map((c) => c.share), [0.4, 0.4, 0.2], "shares");
  assert.equal(decoder.nullScore, -2);
  assert.throws(() => decoder.add(window, new Float32Array(7).fill(NaN), logits), /NaN/);
});

test("the largest values come first, of equals the earlier", () => {
  assert.deepEqual(largest([9, 1, 3, 3, 2, 3], 1, 5, 3), [1, 2, 4]);
  assert.deepEqual(largest([1], 0, 0, 3), []);
});

test("an answer has the share of all spans that overlap with it", () => {
  // Weights by tokens: 0-0 4, 0-1 12, 1-1 3, 1-2 1, 2-2 2, 2-3 4, 3-3 2; together 28. 0-1 is the best, then 2-3.
  const passage = { starts: [0, 2, 4, 6], ends: [1, 3, 5, 7] };
  const [window] = makeWindows(1, 4, { maxLength: 9, docStride: 3 });
  const logs = (...weights) => [0, 99, 99, ...weights.map(Math.log), 99];
  for (const [nBest, spans, shares] of [
    [20, [[0, 3], [4, 7]], [20 / 28, 8 / 28]],
    [1, [[0, 3]], [20 / 28]], // spans that are not tried count too
  ]) {
    const decoder = new Decoder(passage, { nBest, maxAnswerLength: 2 });
    decoder.add(window, logs(4, 1, 2, 1), logs(1, 3, 1, 2));
    const seen = decoder.candidates();
    assert.deepEqual(seen.map((c) => [c.start, c.end]), spans);
    near(seen.map((c) => c.share), shares, `n best ${nBest}`);
  }
});

test("probabilities and the decisions of each mode are Python's", () => {
  const rows = JSON.parse(readFileSync(new URL("../../golden/calibration.json", import.meta.url)));
  assert.ok(rows.length >= 100);
  for (const row of rows) {
    const settings = readSettings(new Fields("row", row.settings));
    const candidates = row.candidates.map(([score, share]) => ({ score, share }));
    for (const [mode, wanted] of Object.entries(row.modes)) {
      const threshold = thresholdOf(settings, mode);
      assert.equal(isAnswered(candidates, row.null_score, threshold), wanted.answered, mode);
      const noAnswer = noAnswerProbability(candidates, row.null_score, threshold, settings.calibration);
      near([noAnswer], [wanted.no_answer], mode);
      near(answerProbabilities(candidates, noAnswer), wanted.probabilities, mode);
    }
  }
  assert.equal(noAnswerProbability([], 0, null, null), 1);
});

test("a model without these settings has no strict threshold of its own and no calibration", async () => {
  const { strictThreshold, calibration } = model.settings;
  assert.deepEqual([strictThreshold, calibration], [null, null]);
  assert.throws(() => thresholdOf(model.settings, "strict"), /strict/);
  for (const mode of ["Strict", "toString", undefined, null]) {
    assert.throws(() => thresholdOf(model.settings, mode), /answering, balanced, strict/, mode);
  }
  const unused = () => assert.fail("a window was computed");
  await assert.rejects(new QuestionAnswerer(model, unused).ask("A text.", "Who?", { mode: "strict" }), /strict/);
  const wrongTemperature = { ...JSON.parse(golden("package/qa.json")).settings, calibration: { temperature: 0, offset: 1 } };
  assert.throws(() => readSettings(new Fields("row", wrongTemperature)), /temperature/);
});

test("tokens of a question that is too long are counted, and left out", async () => {
  const logits = (signature, ids) => {
    assert.equal(ids.indexOf(model.tokenizer.sepId), model.settings.maxQuestionLength + 1);
    return { startLogits: new Float32Array(signature.length), endLogits: new Float32Array(signature.length) };
  };
  const most = model.settings.maxQuestionLength;
  for (const n of [most, most + 3]) {
    const answer = await new QuestionAnswerer(model, logits).ask("A text.", "who ".repeat(n));
    assert.deepEqual([answer.questionTokensRead, answer.questionTokens], [most, n]);
    const [line] = leftOut(answer);
    assert.equal(line, n > most ? `Read the first ${most} of ${n} tokens of the question. Shorten it.` : undefined);
  }
});

test("a long answer is cut between two characters", () => {
  const text = "a".repeat(119) + "😀".repeat(2);
  for (const [end, shown] of [[121, text.slice(0, 121)], [123, `${text.slice(0, 121)}…`]]) {
    assert.equal(headline({ candidates: [{ start: 0, end }], answered: true, noAnswer: 0 }, text), shown);
  }
});

test("an empty passage has no answer, and progress may stop a question", async () => {
  const logits = (signature) => ({
    startLogits: new Float32Array(signature.length),
    endLogits: new Float32Array(signature.length),
  });
  const answerer = new QuestionAnswerer(model, logits);
  const answer = await answerer.ask("", "Who?");
  assert.deepEqual([answer.answered, answer.candidates, answer.windows], [false, [], 1]);
  const stop = () => {
    throw new Error("stopped");
  };
  await assert.rejects(answerer.ask("A text.", "Who?", { progress: stop }), /stopped/);
});
