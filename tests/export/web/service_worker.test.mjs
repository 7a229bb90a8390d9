import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const HASH = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
const SCOPE = "https://example.org/page/";
const script = readFileSync(new URL("../../../export/web/page/service-worker.js", import.meta.url), "utf8");

/** Return what the service worker answers to a request for a file, with a cache that is empty and has this `put`. */
async function answered(put, name = "model.tflite", stale = false) {
  const listeners = {};
  const self = {
    registration: { scope: SCOPE },
    PUBLISHED: { version: "1", small: { "./": HASH }, large: { "model.tflite": HASH } },
    addEventListener: (name, listener) => (listeners[name] = listener),
  };
  const cache = { match: async () => undefined, put };
  const fetch = async (asked) => {
    if (stale && asked.integrity === HASH) throw new TypeError("the hash is another");
    return new Response(`from ${asked.url ?? asked}`);
  };
  runInNewContext(script, { self, fetch, Request, URL, importScripts: () => {}, caches: { open: async () => cache } });
  let response;
  listeners.fetch({ request: new Request(SCOPE + name), respondWith: (promise) => (response = promise) });
  return (await response)?.text();
}

test("a file is kept, and answered also where no storage is left", async () => {
  const kept = [];
  const full = () => Promise.reject(new Error("no storage is left"));
  for (const put of [async (key) => kept.push(key), full]) assert.equal(await answered(put), `from ${SCOPE}model.tflite`);
  assert.deepEqual(kept, [`${SCOPE}model.tflite`]);
});

test("a file of another version, while a host is updated, is answered and not kept", async () => {
  const kept = [];
  assert.equal(await answered(async (key) => kept.push(key), "model.tflite", true), `from ${SCOPE}model.tflite`);
  assert.deepEqual(kept, []);
});

test("only the page's own files are answered and kept", async () => {
  const kept = [];
  const put = async (key) => kept.push(key);
  for (const name of ["api?x=1", "blog", "models/other.tflite"]) assert.equal(await answered(put, name), undefined);
  for (const name of ["", "index.html", "?from=home#top"]) assert.equal(await answered(put, name), `from ${SCOPE}`);
  assert.deepEqual(kept, [SCOPE, SCOPE, SCOPE]);
});
