/** Read model files whose paths come on stdin, and print "ok" or the reason why the page refuses one, a line each. */

import { readFileSync } from "node:fs";

import { ModelFileError } from "../../../export/web/page/fields.mjs";
import { readPackage } from "../../../export/web/page/package.mjs";

async function verdict(path) {
  try {
    await readPackage(new Uint8Array(readFileSync(path)));
    return "ok";
  } catch (error) {
    if (!(error instanceof ModelFileError)) throw error;
    return `refused: ${error.message.replaceAll(/[\r\n\u2028\u2029]/g, " ")}`;
  }
}

for (const path of readFileSync(0, "utf-8").split("\n")) console.log(await verdict(path));
