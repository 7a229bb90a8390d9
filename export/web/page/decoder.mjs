/** Answers and the null score from the logits of a question's windows, as qa/text/answers.py computes them. */

import { apart, Groups } from "./groups.mjs";

/**
 * Decoder of one question. A candidate is {score, start, end, share}: the UTF-16 range [start, end) of its best span,
 * that span's start logit + end logit, and the softmax score of all spans that overlap with it.
 */
export class Decoder {
  constructor(passage, settings) {
    this.passage = passage;
    this.settings = settings;
    this.groups = new Groups(passage, settings);
    this.best = []; // spans without a share
    /** Smallest start[CLS] + end[CLS] over the windows. A larger null score means "no answer" is more likely. */
    this.nullScore = Infinity;
  }

  /** Add one window. Logits start at its [CLS] and may include padding. Throws if a token's logit is not finite. */
  add(window, startLogits, endLogits) {
    checkFinite(startLogits, window.size);
    checkFinite(endLogits, window.size);
    const { nBest, maxAnswerLength } = this.settings;
    const begin = window.contextBegin;
    this.nullScore = Math.min(this.nullScore, startLogits[0] + endLogits[0]);
    this.groups.add(window, startLogits, endLogits);
    const found = [];
    const ends = largest(endLogits, begin, window.tokenCount, nBest);
    for (const start of largest(startLogits, begin, window.tokenCount, nBest)) {
      if (!window.hasMaxContext(start)) continue;
      for (const end of ends) {
        if (end < start || end - start >= maxAnswerLength) continue;
        found.push({
          score: startLogits[begin + start] + endLogits[begin + end],
          start: this.passage.starts[window.firstToken + start],
          end: this.passage.ends[window.firstToken + end],
        });
      }
    }
    this.best = ranked([...this.best, ...apart(ranked(found))]).slice(0, nBest);
  }

  /** Return the answers over all windows: the one with the best span, then the others, largest share first. */
  candidates() {
    const spans = apart(this.best);
    const shares = this.groups.shares(spans);
    const [best, ...others] = spans.map((span, i) => ({ ...span, share: shares[i] }));
    if (best === undefined) return [];
    // In single precision, so that equal shares, which Python sums in another order, stay as ranked.
    return [best, ...others.sort((a, b) => Math.fround(b.share) - Math.fround(a.share))];
  }
}

/** Sort spans, best first. Equal scores are ordered by start, then by end. */
function ranked(spans) {
  return spans.sort((a, b) => b.score - a.score || a.start - b.start || a.end - b.end);
}

/** Return whether the best candidate is given as the answer: null score - best score <= threshold (null: always). */
export function isAnswered(candidates, nullScore, threshold) {
  return candidates.length > 0 && (threshold === null || !(nullScore - candidates[0].score > threshold));
}

/**
 * Return the no-answer threshold of a mode: answering (null: never decline), balanced or strict.
 *
 * Throws Error for another mode, and for strict if the file has no such threshold.
 */
export function thresholdOf({ nullThreshold, strictThreshold }, mode) {
  const thresholds = { answering: null, balanced: nullThreshold, strict: strictThreshold };
  if (!Object.hasOwn(thresholds, mode)) {
    throw new Error(`There is no mode ${mode}. Use ${Object.keys(thresholds).join(", ")}.`);
  }
  if (mode === "strict" && strictThreshold === null) {
    throw new Error("This model has no threshold for mode strict. Use mode balanced, or add one: python -m export.tune.");
  }
  return thresholds[mode];
}

/**
 * Return the probability that the passage has no answer (qa/text/answers.py has the same formula).
 *
 * Without a calibration (null) it is 1/2 at the threshold. Without a threshold too, "no answer" is impossible.
 */
export function noAnswerProbability(candidates, nullScore, threshold, calibration) {
  if (candidates.length === 0) return 1;
  if (calibration === null && threshold === null) return 0;
  const { temperature, offset } = calibration ?? { temperature: 1, offset: -threshold };
  return 1 / (1 + Math.exp(-(nullScore - candidates[0].score + offset) / temperature));
}

/** Return the probability of each candidate: its share of what "no answer" leaves. */
export function answerProbabilities(candidates, noAnswer) {
  return candidates.map(({ share }) => share * (1 - noAnswer));
}

function checkFinite(logits, n) {
  for (let i = 0; i < n; i++) {
    if (!Number.isFinite(logits[i])) {
      throw new Error(
        `The model computed ${logits[i]} for a token, so it cannot answer. Export it in another precision.`,
      );
    }
  }
}

/** Return the indices of the `most` largest of values[from, from + n), largest first; of equal values the earlier. */
export function largest(values, from, n, most) {
  const indices = [];
  for (let i = 0; i < n; i++) {
    let at = indices.length;
    while (at > 0 && values[from + i] > values[from + indices[at - 1]]) at--;
    if (at === most) continue;
    if (indices.length === most) indices.pop();
    indices.splice(at, 0, i);
  }
  return indices;
}
