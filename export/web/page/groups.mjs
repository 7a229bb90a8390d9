/** Spans of a question's windows, and the groups of overlapping spans that are its answers, as in qa/text/groups.py. */

/** Sums the spans that overlap with each answer. */
export class Groups {
  #parts = [];

  constructor(passage, { maxAnswerLength }) {
    this.passage = passage;
    this.maxAnswerLength = maxAnswerLength;
  }

  /** Add the spans of one window. Only logits that they need are kept, because long texts have thousands of windows. */
  add(window, startLogits, endLogits) {
    let first = 0;
    let behind = window.tokenCount;
    while (first < behind && !window.hasMaxContext(first)) first++;
    while (first < behind && !window.hasMaxContext(behind - 1)) behind--;
    const begin = window.contextBegin;
    const lastBehind = Math.min(window.tokenCount, behind + this.maxAnswerLength - 1);
    const starts = startLogits.slice(begin + first, begin + behind);
    this.#parts.push({ window, from: first, starts, ends: endLogits.slice(begin + first, begin + lastBehind) });
  }

  /** Return the share of the softmax of all spans that each group has. `best` are their best spans, best first. */
  shares(best) {
    let weights = new Float64Array(best.length + 1); // the last one is that of spans without a group
    let top = -Infinity;
    for (const { window, from, starts, ends } of this.#parts) {
      const met = this.#met(best, window.firstToken + from, ends.length);
      for (let first = 0; first < starts.length; first++) {
        if (!window.hasMaxContext(from + first)) continue;
        let group = best.length;
        for (let last = first; last < ends.length && last - first < this.maxAnswerLength; last++) {
          group = Math.min(group, met[last]);
          const score = starts[first] + ends[last];
          if (score > top) {
            const factor = Math.exp(top - score); // avoids overflow
            weights = weights.map((weight) => weight * factor);
            top = score;
          }
          weights[group] += Math.exp(score - top);
        }
      }
    }
    const sum = weights.reduce((total, weight) => total + weight, 0);
    return Array.from(weights.subarray(0, best.length), (weight) => weight / sum);
  }

  /** Return, for each of n tokens, the first group whose best span shares a character with it. */
  #met(best, firstToken, n) {
    return Int32Array.from({ length: n }, (_, k) => {
      const token = { start: this.passage.starts[firstToken + k], end: this.passage.ends[firstToken + k] };
      const group = best.findIndex((span) => overlap(span, token));
      return group < 0 ? best.length : group;
    });
  }
}

/** Return the spans without those that overlap with a better one. `ranked` are spans, best first. */
export function apart(ranked) {
  const chosen = [];
  for (const span of ranked) {
    if (!chosen.some((better) => overlap(better, span))) chosen.push(span);
  }
  return chosen;
}

function overlap(one, other) {
  return one.start < other.end && other.start < one.end;
}
