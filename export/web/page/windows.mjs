/** A question and a passage cut into windows, as qa/text/features.py does. */

/** Window: [CLS] question [SEP] part of the passage [SEP]. Token k of the part is at position `contextBegin + k`. */
export class Window {
  /** `row` is the window's index; `owners`, shared by all windows, gives the window with most context of each token. */
  constructor(contextBegin, firstToken, tokenCount, row, owners) {
    this.contextBegin = contextBegin;
    this.firstToken = firstToken;
    this.tokenCount = tokenCount;
    this.row = row;
    this.owners = owners;
  }

  /** Test whether token `k` of the part has most context in this window. */
  hasMaxContext(k) {
    return this.owners[this.firstToken + k] === this.row;
  }

  /** Number of tokens of the window. */
  get size() {
    return this.contextBegin + this.tokenCount + 1;
  }
}

/** Return all windows; `questionTokens` is the length of the truncated question. */
export function makeWindows(questionTokens, passageTokens, settings) {
  const begin = questionTokens + 2;
  return windowsOver(spans(passageTokens, settings.maxLength - begin - 1, settings.docStride), begin);
}

/** Return the windows for ascending parts [first token, number of tokens] of a passage. */
export function windowsOver(parts, begin) {
  const [lastFirst, lastCount] = parts.at(-1);
  const owners = ownersOf(parts, lastFirst + lastCount);
  return parts.map(([first, n], row) => new Window(begin, first, n, row, owners));
}

/** Return [first token, number of tokens] of every window. An empty passage has one empty window. */
function spans(tokens, budget, docStride) {
  let start = 0;
  let n = Math.min(tokens, budget);
  const parts = [[start, n]];
  while (start + n < tokens) {
    start += Math.min(n, docStride);
    n = Math.min(tokens - start, budget);
    parts.push([start, n]);
  }
  return parts;
}

/** Return for each token the window with most context (BERT's rule); of equal windows the first. */
function ownersOf(parts, tokens) {
  const owners = new Int32Array(tokens);
  const best = new Float64Array(tokens).fill(-1);
  parts.forEach(([first, n], row) => {
    for (let k = 0; k < n; k++) {
      const score = Math.min(k, n - 1 - k) + 0.01 * n;
      if (score > best[first + k]) {
        best[first + k] = score;
        owners[first + k] = row;
      }
    }
  });
  return owners;
}
