/** LiteRT.js as the runtime of a packaged model. */

import { loadAndCompile, loadLiteRt, Tensor } from "./litert/index.js";
import { INPUTS } from "./package.mjs";

// On one machine LiteRT.js 2.5.3 with threads computed int8 models wrongly: the probe saw differences of 0.7 to 1.0, other
// ones in each run. On another machine it passed. So this is the build without threads. It needs no headers from the server.
const OPTIONS = { threads: false };

const USUAL_LENGTHS = [128, 192, 256]; // shorter than the longest; qa/formats/tflite.py says why

let loading;

/** Load the runtime, once. */
function runtime() {
  loading ??= loadLiteRt(new URL("./litert/wasm/", import.meta.url).href, OPTIONS).catch((error) => {
    loading = undefined;
    throw new Error(`The runtime could not be loaded (${error.message ?? "a file did not arrive"}). Check the connection, and load the page again.`);
  });
  return loading;
}

/**
 * Compile a .tflite (Uint8Array); return {compute, close}. `compute` is what QuestionAnswerer calls. LiteRT.js cannot resize
 * tensors, so a signature of any length is refused.
 */
export async function compile(bytes, signatures, maxQuestionLength) {
  if (signatures.some((signature) => signature.anyLength)) {
    const longest = signatures.at(-1).length;
    const lengths = [...USUAL_LENGTHS.filter((length) => maxQuestionLength + 4 <= length && length < longest), longest];
    throw new Error(
      "This model takes windows of any length, which a browser cannot compute. " +
        `Export it again, with the same options and --lengths ${lengths.join(" ")}`,
    );
  }
  await runtime();
  let model;
  try {
    model = await loadAndCompile(bytes, { accelerator: "wasm" });
  } catch (error) {
    throw new Error(`The runtime cannot open this model (${error.message ?? error}). Choose another file.`);
  }
  const compute = async (signature, ...values) => {
    const tensors = values.map((numbers) => new Tensor(numbers, [1, signature.length]));
    try {
      const outputs = await model.run(signature.name, Object.fromEntries(INPUTS.map((name, i) => [name, tensors[i]])));
      tensors.push(...Object.values(outputs));
      const startLogits = Float32Array.from(await outputs.start_logits.data());
      const endLogits = Float32Array.from(await outputs.end_logits.data());
      return { startLogits, endLogits };
    } finally {
      for (const tensor of tensors) tensor.delete();
    }
  };
  return { compute, close: () => model.delete() };
}
