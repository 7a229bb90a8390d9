/** N-best answers and the null score from the logits of a question's windows, as qa/text/answers.py computes them. */

const LARGEST_OFFSET = 2 ** 26; // two offsets below it fit exactly into one number

/** Decoder of one question. A candidate is {score, start, end}: UTF-16 range [start, end), start logit + end logit. */
export class Decoder {
  constructor(passage, settings) {
    this.passage = passage;
    this.settings = settings;
    this.pool = new Map();
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
    const ends = largest(endLogits, begin, window.tokenCount, nBest);
    for (const start of largest(startLogits, begin, window.tokenCount, nBest)) {
      if (!window.hasMaxContext(start)) continue;
      for (const end of ends) {
        if (end < start || end - start >= maxAnswerLength) continue;
        this.#offer({
          score: startLogits[begin + start] + endLogits[begin + end],
          start: this.passage.starts[window.firstToken + start],
          end: this.passage.ends[window.firstToken + end],
        });
      }
    }
    // Long texts have thousands of windows, so only the best ranges are kept. This is safe because the score of a
    // range never falls: a dropped range that gets a higher score later is added again.
    const best = this.candidates();
    this.pool.clear();
    for (const candidate of best) this.#offer(candidate);
  }

  #offer(candidate) {
    const range = candidate.start * LARGEST_OFFSET + candidate.end;
    const known = this.pool.get(range);
    if (known === undefined || candidate.score > known.score) this.pool.set(range, candidate);
  }

  /** Return the n best answers over all windows, best first. Equal scores are ordered by start, then by end. */
  candidates() {
    const ranked = [...this.pool.values()].sort((a, b) => b.score - a.score || a.start - b.start || a.end - b.end);
    return ranked.slice(0, this.settings.nBest);
  }
}

/** Return whether the best candidate is given as the answer: null score - best score <= threshold (null: always). */
export function isAnswered(candidates, nullScore, threshold) {
  return candidates.length > 0 && (threshold === null || !(nullScore - candidates[0].score > threshold));
}

/** Return the softmax scores of the candidates; with a threshold, "no answer" is one more candidate. */
export function softmaxScores(candidates, nullScore, threshold) {
  if (candidates.length === 0) return [];
  const top = candidates[0].score;
  const none = threshold === null ? -Infinity : nullScore - threshold - top;
  const most = Math.max(0, none); // avoids overflow
  const weights = candidates.map((candidate) => Math.exp(candidate.score - top - most));
  const sum = weights.reduce((total, weight) => total + weight, Math.exp(none - most));
  return weights.map((weight) => weight / sum);
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

/** Return the calibrated probability that the passage has no answer (qa/text/answers.py has the same formula). */
export function noAnswerProbability(candidates, nullScore, { temperature, offset }) {
  return 1 / (1 + Math.exp(-(nullScore - candidates[0].score + offset) / temperature));
}

/** Return the calibrated probability of each candidate: its share, by softmax, of what "no answer" leaves. */
export function answerProbabilities(candidates, nullScore, calibration) {
  if (candidates.length === 0) return [];
  const shares = softmaxScores(candidates, nullScore, null);
  const left = 1 - noAnswerProbability(candidates, nullScore, calibration);
  return shares.map((share) => share * left);
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
