/** Offline use: a service worker keeps all files of the page. */

const PATIENCE_MS = 10_000;

/** Start the service worker, and wait until it sees what the page loads. Returns whether it does: "yes", "no" or "late". */
export async function keepForOffline() {
  if (!("serviceWorker" in navigator)) return "no";
  const { serviceWorker } = navigator;
  try {
    const controlled = new Promise((resolve) => {
      if (serviceWorker.controller) resolve("yes");
      serviceWorker.addEventListener("controllerchange", () => resolve("yes"), { once: true });
    });
    const registration = await serviceWorker.register("./service-worker.js", { updateViaCache: "none" });
    if (registration.active && !registration.installing) return "yes"; // and a reload that passes it by
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, "late")); // it goes on, and sees the next visit
    const worker = registration.installing;
    const failed = new Promise((_, reject) => {
      worker?.addEventListener("statechange", () => worker.state === "redundant" && reject(new Error("a file is missing")));
    });
    return await Promise.race([controlled, late, failed]);
  } catch {
    return "no"; // a private window, a browser's setting, or a server without all files
  }
}
