/** Text of a PDF, by pdf.js, which is loaded when a PDF is opened. */

const MAGIC = /(^|[\0\r\n])%PDF-/; // a text may have it within a line
const MAGIC_WITHIN = 1024; // bytes; readers allow a header of another program before it
const address = (name) => new URL(`./pdfjs/${name}`, import.meta.url).href;

/** Return whether a file (File) is a PDF. */
export async function isPdf(file) {
  const head = new Uint8Array(await file.slice(0, MAGIC_WITHIN).arrayBuffer());
  return file.name.toLowerCase().endsWith(".pdf") || MAGIC.test(String.fromCharCode(...head));
}

async function startWorker() {
  try {
    const { getDocument, GlobalWorkerOptions, PDFWorker } = await import("./pdfjs/pdf.min.mjs");
    GlobalWorkerOptions.workerSrc = address("pdf.worker.min.mjs");
    const worker = new PDFWorker({ verbosity: 0 }); // errors; it warns of what it mends
    await worker.promise;
    return { getDocument, worker };
  } catch (error) {
    throw new Error(`pdf.js could not be loaded (${error.message}). Go online, load the page again and open the PDF, or update this browser.`);
  }
}

/**
 * Return the text of a PDF (File): its lines as lines, and a blank line between pages.
 *
 * `say` gets the progress in words. `signal` ends the work at once. Throws Error, in words, if the file has no text that can be
 * read, or more than `mostCharacters`.
 */
export async function pdfText(file, mostCharacters, say, signal) {
  await say("Loading pdf.js…");
  const stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const started = startWorker();
  try {
    const read = started.then(({ getDocument, worker }) => open(file, getDocument, worker));
    return await Promise.race([stopped, read.then((pdf) => textOf(pdf, file, mostCharacters, say))]);
  } finally {
    started.then(({ worker }) => worker.destroy()).catch(() => {});
  }
}

async function open(file, getDocument, worker) {
  const data = new Uint8Array(await file.arrayBuffer());
  const options = { data, worker, cMapUrl: address("cmaps/"), useWorkerFetch: true, disableWorkerRendering: true, verbosity: 0 };
  try {
    return await getDocument(options).promise;
  } catch (error) {
    if (error.name === "PasswordException") throw new Error(`${file.name} needs a password. Save a copy without one, and open that.`);
    throw unreadable(file, error);
  }
}

async function textOf(pdf, file, mostCharacters, say) {
  const pages = [];
  let characters = 0;
  for (let number = 1; number <= pdf.numPages; number++) {
    await say(`Reading page ${number} of ${pdf.numPages}…`);
    const page = await pageText(pdf, number).catch((error) => {
      throw unreadable(file, error);
    });
    characters += page.length;
    if (characters > mostCharacters) throw new Error(`${file.name} has more than one million characters. Choose a shorter PDF.`);
    if (page) pages.push(page);
  }
  if (!pages.length) throw new Error(`${file.name} has no text, perhaps only pictures of it. Paste its text instead.`);
  return pages.join("\n\n");
}

async function pageText(pdf, number) {
  const page = await pdf.getPage(number);
  const { items } = await page.getTextContent();
  page.cleanup();
  return items.map(({ str, hasEOL }) => (hasEOL ? `${str}\n` : str)).join("").trim();
}

function unreadable(file, error) {
  return new Error(`pdf.js cannot read ${file.name} (${error.message}). Choose another file, or paste its text.`);
}
