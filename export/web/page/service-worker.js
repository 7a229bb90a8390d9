/** Keeps the published files, so that the page works offline after the first visit. */

importScripts("./published.js"); // sets self.PUBLISHED; another version makes another cache

const SCOPE = self.registration.scope;
const PREFIX = `pocketqa ${SCOPE} `;
const CACHE = PREFIX + self.PUBLISHED.version;
const addresses = (hashes) => Object.entries(hashes).map(([name, hash]) => [new URL(name, SCOPE).href, hash]);
const HASHES = new Map([...addresses(self.PUBLISHED.small), ...addresses(self.PUBLISHED.large)]); // of the page's files only
const SMALL = addresses(self.PUBLISHED.small).map(([url]) => url);
const LARGE = addresses(self.PUBLISHED.large).map(([url]) => url);

/** Ask the server anew, and for this very file: while a host is updated, it has files of two versions. */
function fresh(url) {
  return new Request(url, { cache: "no-cache", integrity: HASHES.get(url) });
}

async function olderCaches() {
  return (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
}

/** Keep the small files, and after an update those large ones that were kept before. */
async function install() {
  const urls = [...SMALL];
  for (const name of await olderCaches()) {
    const older = await caches.open(name);
    for (const large of LARGE) {
      if ((await older.match(large)) && !urls.includes(large)) urls.push(large);
    }
  }
  const cache = await caches.open(CACHE);
  await cache.addAll(urls.map(fresh));
  await self.skipWaiting();
}

async function activate() {
  await Promise.all((await olderCaches()).map((name) => caches.delete(name)));
  await self.clients.claim();
}

/** Answer from the cache; else from the server, and keep it. Runtime and model come this way on the first visit. */
async function answer(key) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(key);
  if (kept) return kept;
  const response = await fetch(fresh(key)).catch(() => null);
  if (!response) return fetch(key, { cache: "no-cache" }); // of another version: used, and not kept
  if (response.status === 200) await cache.put(key, response.clone()).catch(() => {}); // no storage is left
  return response;
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const url = event.request.url.replace(/[?#].*$/, "");
  const key = url === `${SCOPE}index.html` ? SCOPE : url;
  if (event.request.method === "GET" && HASHES.has(key)) event.respondWith(answer(key));
});
