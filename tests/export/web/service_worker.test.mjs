import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const SCOPE = "https://example.org/page/";
const script = readFileSync(new URL("../../../export/web/page/service-worker.js", import.meta.url), "utf8");

/** Return what the service worker answers to a request, with a cache that is empty and has this `put`. */
async function answered(put) {
  const listeners = {};
  const self = {
    registration: { scope: SCOPE },
    PUBLISHED: { version: "1", small: [], large: [] },
    addEventListener: (name, listener) => (listeners[name] = listener),
  };
  const cache = { match: async () => undefined, put };
  const fetch = async ({ url }) => new Response(`from ${url}`);
  runInNewContext(script, { self, fetch, Request, importScripts: () => {}, caches: { open: async () => cache } });
  let response;
  listeners.fetch({ request: new Request(`${SCOPE}model.tflite`), respondWith: (promise) => (response = promise) });
  return (await response).text();
}

test("a file is kept, and answered also where no storage is left", async () => {
  const kept = [];
  const full = () => Promise.reject(new Error("no storage is left"));
  for (const put of [async (key) => kept.push(key), full]) assert.equal(await answered(put), `from ${SCOPE}model.tflite`);
  assert.deepEqual(kept, [`${SCOPE}model.tflite`]);
});
