/** Answers to questions about passages, with one model. */

import { answerProbabilities, Decoder, isAnswered, noAnswerProbability, thresholdOf } from "./decoder.mjs";
import { chooseWindows } from "./preselection.mjs";
import { smallestThatFits } from "./probe.mjs";
import { Tokens } from "./tokenizer.mjs";
import { makeWindows } from "./windows.mjs";

export { ProbeError } from "./probe.mjs";

/** Runs windows in the smallest signature that fits. */
class WindowRunner {
  /** `compute(signature, ids, mask, types)` returns, or promises, {startLogits, endLogits} of signature.length each. */
  constructor(compute, signatures, padId) {
    this.compute = compute;
    this.signatures = signatures;
    this.padId = padId;
  }

  run(inputIds, contextBegin) {
    const n = inputIds.length;
    const signature = smallestThatFits(n, this.signatures);
    const ids = new Int32Array(signature.length).fill(this.padId);
    ids.set(inputIds);
    const mask = new Int32Array(signature.length).fill(1, 0, n);
    const types = new Int32Array(signature.length).fill(1, contextBegin, n);
    return this.compute(signature, ids, mask, types);
  }
}

/** Answerer of questions with one model. Ask one question at a time. */
export class QuestionAnswerer {
  #passage = null;
  #passageTokens = null;

  /** `model` is what `readPackage` returns; for `compute` see WindowRunner. */
  constructor(model, compute) {
    this.settings = model.settings;
    this.tokenizer = model.tokenizer;
    this.probe = model.probe;
    this.runner = new WindowRunner(compute, model.signatures, model.tokenizer.padId);
  }

  /** Run the probe; return the largest relative difference. Throws ProbeError: do not use this runtime then. */
  checkProbe() {
    return this.probe.check(this.runner);
  }

  /**
   * Answer one question. An empty passage has no answer.
   *
   * `mode` says when to decline: answering (never), balanced or strict. Throws Error if the file has no such threshold.
   * Of a text with many windows only those most similar to the question are read, unless `readAll` is set.
   * `progress(done, total)` is awaited between steps; it may throw to stop. It gets (0, 0) while the text is tokenized.
   */
  async ask(passage, question, { readAll = false, mode = "balanced", progress = () => {} } = {}) {
    const nullThreshold = thresholdOf(this.settings, mode);
    const began = performance.now();
    const passageTokens = await this.#tokensOf(passage, progress);
    const allQuestionIds = this.tokenizer.encode(question).ids;
    const questionIds = allQuestionIds.slice(0, this.settings.maxQuestionLength);
    const all = makeWindows(questionIds.length, passageTokens.size, this.settings);
    const windows = readAll ? all : chooseWindows(questionIds, passageTokens, all);
    const tokenizeMs = performance.now() - began;
    const decoder = new Decoder(passageTokens, this.settings);
    let inferenceMs = 0;
    await progress(0, windows.length);
    for (const [row, window] of windows.entries()) {
      const part = passageTokens.ids.slice(window.firstToken, window.firstToken + window.tokenCount);
      const { clsId, sepId } = this.tokenizer;
      const started = performance.now();
      const logits = await this.runner.run([clsId, ...questionIds, sepId, ...part, sepId], window.contextBegin);
      inferenceMs += performance.now() - started;
      decoder.add(window, logits.startLogits, logits.endLogits);
      await progress(row + 1, windows.length);
    }
    const candidates = decoder.candidates();
    const { calibration } = this.settings;
    const noAnswer = noAnswerProbability(candidates, decoder.nullScore, nullThreshold, calibration);
    return {
      /** The one with the best span, then the others, most probable first. */
      candidates,
      /** Whether the best candidate is given; if not, there is no answer in this text. */
      answered: isAnswered(candidates, decoder.nullScore, nullThreshold),
      /** Whether `scores` are calibrated probabilities; if not, they are softmax scores. */
      calibrated: calibration !== null,
      scores: answerProbabilities(candidates, noAnswer),
      /** Probability that the text has no answer; if not calibrated, its softmax score. */
      noAnswer,
      nullScore: decoder.nullScore,
      /** Less than `questionTokens` where the question was truncated. */
      questionTokensRead: questionIds.length,
      questionTokens: allQuestionIds.length,
      windows: windows.length,
      windowsInText: all.length,
      tokenizeMs,
      inferenceMs,
    };
  }

  /** Return the tokens of a passage. Those of the last one are kept, because users ask more questions about it. */
  async #tokensOf(passage, progress) {
    if (passage !== this.#passage) {
      const tokens = new Tokens();
      for (const piece of this.tokenizer.pieces(passage)) {
        await progress(0, 0);
        this.tokenizer.encodePiece(passage, piece, tokens);
      }
      tokens.moveEndsOverMarks(passage, this.tokenizer.tables);
      this.#passage = passage;
      this.#passageTokens = tokens;
    }
    return this.#passageTokens;
  }
}
