/** The model in use: read, compiled and checked before it may answer. */

import { QuestionAnswerer } from "./answerer.mjs";
import { textElement } from "./elements.mjs";
import { readPackage } from "./package.mjs";

const BYTES_A_MB = 1e6;

/** Opens one model after another. */
export class ModelShelf {
  /** Elements: what is being done, and what is in use as a line and as a list of facts. */
  constructor(loading, status, facts) {
    this.loading = loading;
    this.status = status;
    this.facts = facts;
    /** QuestionAnswerer of the model in use; null if there is none. */
    this.answerer = null;
    /** Name of the file in use; null for the page's own model. */
    this.from = null;
    this.close = () => {};
  }

  /**
   * Open the model whose bytes `read` promises (ArrayBuffer); `from` is its file's name.
   *
   * Throws Error, in words, if the file is damaged or the runtime fails its probe. The model in use then stays.
   */
  async open(read, from) {
    try {
      await this.#say("Loading the model…");
      const bytes = new Uint8Array(await read());
      const model = await readPackage(bytes);
      await this.#say("Loading and compiling in this browser…");
      // Not at the top: without import maps, which LiteRT.js needs, the page could not even say what is wrong.
      const { compile } = await import("./litert.mjs").catch((error) => {
        throw new Error(`The runtime could not be loaded (${error.message}). Check the connection, and load the page again.`);
      });
      const { compute, close } = await compile(model.model, model.signatures, model.settings.maxQuestionLength);
      const answerer = new QuestionAnswerer(model, compute);
      await this.#say("Checking that this browser computes it rightly…");
      const difference = await answerer.checkProbe().catch((error) => {
        close();
        throw error;
      });
      this.close();
      Object.assign(this, { answerer, close, from });
      this.#describe(model, bytes.length, difference);
    } catch (error) {
      if (!this.answerer) this.status.textContent = "No model";
      throw from === null ? error : new Error(`${from} is not used. ${error.message}`);
    } finally {
      this.loading.textContent = "";
    }
  }

  #say(what) {
    this.loading.textContent = what;
    return new Promise((resolve) => setTimeout(resolve)); // the page draws
  }

  #describe({ facts, probe, settings }, nBytes, difference) {
    const size = `${(nBytes / BYTES_A_MB).toFixed(1)} MB`;
    this.status.textContent = `${facts.name} · ${facts.precision} · ${size} · checked in this browser`;
    const threshold = settings.nullThreshold === null ? "always answers" : settings.nullThreshold.toFixed(2);
    const rows = {
      File: this.from ?? "the page's own",
      Name: facts.name,
      Precision: facts.precision,
      Size: size,
      Parameters: facts.parameters.toLocaleString("en"),
      "No-answer threshold": threshold,
      Percentages: settings.calibration ? "calibrated probabilities" : "softmax scores, not calibrated",
      Probe: `logits differ by ${difference.toPrecision(3)} of their deviation, ${probe.tolerance.toPrecision(3)} is allowed`,
      Runtime: "LiteRT.js, WebAssembly, 1 thread",
    };
    const cells = Object.entries(rows).flatMap(([name, value]) => [textElement("dt", name), textElement("dd", value)]);
    this.facts.replaceChildren(...cells);
  }
}
