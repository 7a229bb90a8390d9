/** Offline use: a service worker keeps all files of the page. */

const PATIENCE_MS = 10_000;

/** Start the service worker, and wait until it sees what the page loads. Returns whether it does. */
export async function keepForOffline() {
  if (!("serviceWorker" in navigator)) return false;
  const { serviceWorker } = navigator;
  try {
    const controlled = new Promise((resolve) => {
      if (serviceWorker.controller) resolve();
      serviceWorker.addEventListener("controllerchange", resolve, { once: true });
    });
    const registration = await serviceWorker.register("./service-worker.js", { updateViaCache: "none" });
    if (registration.active && !registration.installing) return true; // and a reload that passes it by
    const late = new Promise((_, reject) => setTimeout(reject, PATIENCE_MS, new Error("the service worker is late")));
    const worker = registration.installing;
    const failed = new Promise((_, reject) => {
      worker?.addEventListener("statechange", () => worker.state === "redundant" && reject(new Error("a file is missing")));
    });
    await Promise.race([controlled, late, failed]);
    return true;
  } catch {
    return false; // a private window, a browser's setting, or a server without all files
  }
}
