/** The windows of a long text that are most similar to the question (BM25), chosen as qa/text/preselection.py does. */

import { windowsOver } from "./windows.mjs";

/** Maximum number of windows read per question. */
export const MOST_WINDOWS = 16;
const K1 = 1.2;

/** Return the best MOST_WINDOWS windows, or all if there are not more, in text order. Tokens are assigned again. */
export function chooseWindows(questionIds, passage, windows) {
  if (windows.length <= MOST_WINDOWS) return windows;
  const scores = bm25(questionIds, passage, windows);
  const rows = [...windows.keys()].sort((a, b) => scores[b] - scores[a]); // a stable sort
  const best = rows.slice(0, MOST_WINDOWS).sort((a, b) => a - b);
  const parts = best.map((row) => [windows[row].firstToken, windows[row].tokenCount]);
  return windowsOver(parts, windows[0].contextBegin);
}

function bm25(questionIds, passage, windows) {
  const terms = new Map(); // token id -> index, in the question's order: sums of doubles depend on it
  for (const id of questionIds) if (!terms.has(id)) terms.set(id, terms.size);
  const counts = windows.map(() => new Int32Array(terms.size));
  const windowsWith = new Int32Array(terms.size);
  windows.forEach((window, row) => {
    for (let k = 0; k < window.tokenCount; k++) {
      const term = terms.get(passage.ids[window.firstToken + k]);
      if (term !== undefined && counts[row][term]++ === 0) windowsWith[term]++;
    }
  });
  const scores = new Float64Array(windows.length);
  windowsWith.forEach((n, term) => {
    // Logarithms may differ in the last bit of a double, but not of a float.
    const idf = Math.fround(Math.log(1 + (windows.length - n + 0.5) / (n + 0.5)));
    for (let row = 0; row < scores.length; row++) {
      scores[row] += idf * (counts[row][term] / (counts[row][term] + K1));
    }
  });
  return scores;
}
