/** Real windows with PyTorch's logits, for each signature. They detect a runtime that computes wrongly. */

import { Fields, ModelFileError, wrong } from "./fields.mjs";

/** Largest tolerance of each precision, whatever a file says; qa/formats/precision.py has the same. */
export const TOLERANCES = { fp32: 0.0001, fp16: 0.01, int8: 0.25, "int8-weights": 0.15, int4: 0.8 };

/** The runtime computes a model wrongly; it must not answer. */
export class ProbeError extends Error {
  name = "ProbeError";
}

/** Return the shortest signature, of ascending ones, that fits a window of `n` tokens. */
export function smallestThatFits(n, signatures) {
  return signatures.find((signature) => signature.length >= n);
}

/** Probe of a model file. */
export class Probe {
  /** Read probe.json. Throws ModelFileError if a signature has no window. */
  constructor(json, precision, signatures, vocabularySize) {
    const own = json.has("tolerance") ? json.object("tolerance") : null;
    const most = TOLERANCES[precision];
    /** Largest relative difference allowed. */
    this.tolerance = own?.has(precision) ? Math.min(most, own.number(precision)) : most;
    this.precision = precision;
    if (this.tolerance <= 0) throw wrong(`probe.json: tolerance: ${precision}`, "above 0", this.tolerance);
    const where = "probe.json: windows";
    this.windows = json.list("windows").map((item) => readWindow(new Fields(where, item), signatures, vocabularySize));
    const covered = new Set(this.windows.map((window) => smallestThatFits(window.inputIds.length, signatures)));
    const missing = signatures.find((signature) => !covered.has(signature));
    if (missing) {
      throw new ModelFileError(
        `probe.json has no window for the signature ${missing.name}, so it cannot be checked. Export the model again.`,
      );
    }
  }

  /** Run all windows; return the largest relative difference. Throws ProbeError if it exceeds the tolerance. */
  async check(runner) {
    let worst = 0;
    for (const window of this.windows) {
      const { startLogits, endLogits } = await runner.run(window.inputIds, window.contextBegin);
      const start = relativeDifference(window.startLogits, startLogits);
      worst = Math.max(worst, start, relativeDifference(window.endLogits, endLogits));
    }
    if (!(worst <= this.tolerance)) {
      throw new ProbeError(
        `This browser's runtime computes this ${this.precision} model wrongly: its logits differ from PyTorch's by ` +
          `${worst.toPrecision(3)} of their standard deviation, at most ${this.tolerance.toPrecision(3)} is allowed. ` +
          "Use another browser, or export the model in another precision.",
      );
    }
    return worst;
  }
}

function readWindow(json, signatures, vocabularySize) {
  const inputIds = json.integers("input_ids", 0, vocabularySize - 1);
  const n = inputIds.length;
  const contextBegin = json.integer("context_begin", 0, n);
  const startLogits = json.floats("start_logits");
  const endLogits = json.floats("end_logits");
  const longest = signatures.at(-1).length;
  if (n === 0 || n > longest || startLogits.length !== n || endLogits.length !== n) {
    throw wrong(json.where, `as long as their logits, from 1 to ${longest}`, n);
  }
  return { inputIds, contextBegin, startLogits, endLogits };
}

/** Return the RMS difference divided by the reference's standard deviation; infinite when `seen` is not finite. */
export function relativeDifference(reference, seen) {
  const n = reference.length;
  const mean = reference.reduce((sum, value) => sum + value, 0) / n;
  let squares = 0;
  let deviations = 0;
  reference.forEach((value, i) => {
    squares += (seen[i] - value) ** 2;
    deviations += (value - mean) ** 2;
  });
  const difference = Math.sqrt(squares / n);
  return Number.isFinite(difference) ? difference / Math.max(Math.sqrt(deviations / n), 1e-6) : Infinity;
}
