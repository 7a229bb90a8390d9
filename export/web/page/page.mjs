/** The page: a text, a question, the answer marked in the text. */

import { showAnswer } from "./answer.mjs";
import { bringIntoView, element } from "./elements.mjs";
import { ModelShelf } from "./models.mjs";
import { keepForOffline } from "./offline.mjs";
import { checkSecure } from "./package.mjs";
import { isPdf, pdfText } from "./pdf.mjs";
import { SAMPLES } from "./samples.mjs";
import { Session } from "./session.mjs";
import { decodeText, htmlText, isHtml } from "./textfile.mjs";

const MOST_CHARACTERS = 1_000_000;
const MOST_TEXT_BYTES = 100_000_000; // a saved page holds its pictures too
const LARGEST_FILE = 1_000_000_000;
const SHIPPED = "model.tflite";
const NOT_READY = "No model is ready. Wait until it is loaded, or load the page again.";
const BEING_READ = "The text is still being read. Wait, or press Stop.";
const MODEL_MAGIC = "TFL3"; // at byte 4

const passage = element("passage");
const question = element("question");
const shelf = new ModelShelf(element("loading"), element("status"), element("facts"));
const session = new Session(element("session"), element("asked"), showAgain);
let unasked = false; // whether the text was typed and nothing was asked about it yet
let stopping = null; // while a question is answered or a PDF is read: a function that stops it
let asking = false; // while a question is answered
let opening = false; // while a model is opened
let opened = 0; // texts and files that were typed, chosen or opened
let latest = 0; // number of the last one that is a text: a slow file must not replace a later one

/** Put a problem into words, or take the last one away. */
function tell(problem) {
  element("problem").hidden = !problem;
  element("problem").textContent = problem ? (problem.message ?? String(problem)) : "";
  if (problem) bringIntoView(element("problem"));
}

/** Run what may fail, and say why it failed. */
async function trying(action) {
  tell(null);
  try {
    await action();
  } catch (error) {
    tell(error);
  }
}

function clearAnswer() {
  stopping?.();
  for (const id of ["best", "others", "windows", "times"]) element(id).replaceChildren();
  if (document.activeElement === element("read-all")) element("ask").focus(); // what is hidden loses the focus
  element("read-all").hidden = true;
}

/** Show the text to edit instead of the text with an answer marked. */
function edit() {
  passage.hidden = false;
  element("reading").hidden = true;
  element("edit").hidden = true;
}

/** Put a text into its field; a sample comes with its questions. */
function setText(text) {
  if (text.length > MOST_CHARACTERS) {
    throw new Error(`The text has ${text.length.toLocaleString("en")} characters. Choose one of at most one million.`);
  }
  clearAnswer();
  edit();
  latest = ++opened;
  unasked = false;
  passage.value = text;
  const questions = SAMPLES.find((sample) => sample.text === text)?.questions ?? [];
  const isSuggested = SAMPLES.some((sample) => sample.questions.includes(question.value));
  if (questions.length || isSuggested) question.value = questions[0] ?? ""; // a question of the user's stays
  const buttons = questions.map((suggested) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = suggested;
    button.addEventListener("click", () => {
      if (stopping) return;
      question.value = suggested;
      trying(ask);
    });
    return button;
  });
  element("suggestions").replaceChildren(...buttons);
}

/** Ask whether a text that was typed and not asked about may go. */
function mayReplace() {
  return !unasked || confirm("You have not asked about the text in the field yet. Replace it?");
}

/** Show an earlier answer of this session again, in its text. */
function showAgain({ text, asked, answer }) {
  if (!mayReplace()) return;
  tell(null);
  setText(text);
  question.value = asked;
  showAnswer(answer, text);
  bringIntoView(element("best"));
}

class Stopped extends Error {}

/** Let the browser do other work. In a hidden tab a timer would come once a second, or once a minute; a message comes at once. */
function turn() {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(null);
  });
}

/** Label the button for what it does now. */
function offerAsk() {
  element("ask").textContent = stopping ? "Stop" : "Ask";
  element("ask").disabled = !stopping && (opening || !shelf.answerer);
}

/**
 * Run what takes time, with a button that stops it; return its result, or undefined if it was stopped. The action gets a function
 * that shows its progress and throws Stopped, and an AbortSignal.
 */
async function stoppable(action) {
  stopping?.();
  const working = element("working");
  const controller = new AbortController();
  const stop = () => controller.abort(new Stopped());
  const say = async (progress) => {
    controller.signal.throwIfAborted();
    working.textContent = progress;
    await turn(); // the page draws, and takes a press of Stop
    controller.signal.throwIfAborted();
  };
  stopping = stop;
  offerAsk();
  working.hidden = false;
  element("busy").textContent = "Reading the text…"; // for screen readers, once; they would say each window
  bringIntoView(working);
  try {
    return await action(say, controller.signal);
  } catch (error) {
    if (error instanceof Stopped) return undefined;
    edit();
    throw error;
  } finally {
    if (stopping === stop) {
      stopping = null;
      working.hidden = true;
      element("busy").textContent = "";
      if (element("problem").textContent === BEING_READ) tell(null);
      offerAsk();
    }
  }
}

async function ask(readAll = false) {
  if (stopping) throw new Error(BEING_READ);
  if (!passage.value.trim()) throw new Error("There is no text yet. Paste one, open a file, or choose a sample.");
  if (!question.value.trim()) throw new Error("Type a question first.");
  if (passage.value.length > MOST_CHARACTERS) throw new Error("The text is longer than one million characters. Cut it.");
  if (opening || !shelf.answerer) throw new Error(NOT_READY);
  clearAnswer();
  const text = passage.value;
  const asked = question.value;
  const mode = element("mode").value;
  asking = true;
  const answer = await stoppable((say) => {
    const progress = (done, total) => say(total ? `Reading window ${Math.min(done + 1, total)} of ${total}…` : "Tokenizing the text…");
    return shelf.answerer.ask(text, asked, { readAll, mode, progress });
  }).finally(() => {
    asking = false;
  });
  if (!answer) return;
  showAnswer(answer, text);
  unasked = false;
  session.add({ text, asked, answer });
  bringIntoView(element("best"));
}

async function openFile(file) {
  const own = ++opened;
  if (file.size > LARGEST_FILE) throw new Error(`${file.name} is larger than 1 GB, so the page does not open it.`);
  const head = new Uint8Array(await file.slice(0, 8).arrayBuffer());
  if (String.fromCharCode(...head.subarray(4)) === MODEL_MAGIC || file.name.endsWith(".tflite")) {
    await openModel(() => file.arrayBuffer(), file.name);
  } else if (await isPdf(file)) {
    if (own < latest || !mayReplace()) return;
    latest = own;
    clearAnswer();
    const text = await stoppable((say, signal) => pdfText(file, MOST_CHARACTERS, say, signal));
    if (text && own === latest) setText(text);
  } else {
    if (own < latest) return;
    latest = own;
    if (file.size > MOST_TEXT_BYTES) throw new Error(`${file.name} is larger than 100 MB. Choose a shorter text.`);
    const decoded = decodeText(new Uint8Array(await file.arrayBuffer()));
    const text = file.type === "text/html" || isHtml(file.name, decoded) ? htmlText(decoded) : decoded;
    if (own !== latest) return;
    if (!text.trim()) throw new Error(`${file.name} has no text. Choose another file, or paste its text.`);
    if (mayReplace()) setText(text);
  }
}

async function openModel(read, from) {
  if (opening) throw new Error("Another model is being opened. Choose this one again when that is done.");
  if (!stopping || asking) clearAnswer(); // else a PDF is being read: it needs no model
  edit();
  opening = true;
  offerAsk();
  try {
    await shelf.open(read, from);
    if (element("problem").textContent === NOT_READY) tell(null);
  } finally {
    opening = false;
    offerAsk();
    if (document.activeElement === element("shipped")) element("open-model").focus(); // what is hidden loses the focus
    element("shipped").hidden = Boolean(shelf.answerer) && shelf.from === null;
    offerModes();
  }
}

/** Offer the modes that the model in use has. */
function offerModes() {
  const strict = element("mode").querySelector("[value=strict]");
  strict.disabled = !shelf.answerer || shelf.answerer.settings.strictThreshold === null;
  if (strict.disabled && element("mode").value === "strict") element("mode").value = "balanced";
}

async function fetchShipped() {
  try {
    const response = await fetch(SHIPPED);
    if (!response.ok) throw new Error(response.status);
    return await response.arrayBuffer();
  } catch (error) {
    throw new Error(`The model could not be loaded (${error.message}). Check the connection, and load the page again.`);
  }
}

const openShipped = () => openModel(fetchShipped, null);

function connect() {
  element("form").addEventListener("submit", (event) => {
    event.preventDefault(); // Enter in the question
    trying(ask);
  });
  element("ask").addEventListener("click", ({ detail }) => {
    if (detail > 1) return; // the second press of a double click: the button has changed under it
    if (stopping) {
      stopping();
      edit();
    } else {
      trying(ask);
    }
  });
  element("read-all").addEventListener("click", () => trying(() => ask(true)));
  element("edit").addEventListener("click", () => {
    edit();
    passage.focus();
  });
  passage.addEventListener("input", () => {
    clearAnswer();
    latest = ++opened;
    unasked = passage.value.trim() !== "";
    element("suggestions").replaceChildren();
  });
  question.addEventListener("input", () => {
    if (!asking) return;
    stopping(); // else the answer to another question would appear
    edit();
  });
  element("shipped").addEventListener("click", () => trying(openShipped));
  for (const name of ["text", "model"]) {
    const input = element(`${name}-file`);
    element(`open-${name}`).addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      const [file] = input.files;
      input.value = ""; // so that the same file can be chosen again
      if (file) trying(() => openFile(file));
    });
  }
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.toggle("dropping", event.dataTransfer.types.includes("Files"));
  });
  for (const name of ["dragleave", "drop"]) {
    document.addEventListener(name, () => document.body.classList.remove("dropping"));
  }
  document.addEventListener("drop", (event) => {
    const [file] = event.dataTransfer.files;
    if (file) {
      event.preventDefault();
      if (event.dataTransfer.files.length > 1) return tell("Drop one file at a time.");
      trying(() => openFile(file));
    }
  });
}

function offerSamples() {
  const list = element("samples");
  list.append(...SAMPLES.map(({ title }, i) => new Option(title, String(i))));
  list.addEventListener("change", () => {
    const sample = SAMPLES[list.value];
    if (sample && mayReplace()) trying(() => setText(sample.text));
    else list.value = "";
  });
  list.addEventListener("blur", () => {
    list.value = ""; // so that the same sample can be chosen again; until then, arrow keys go on to the next
  });
  setText(SAMPLES[0].text);
}

/** What the page needs of the browser; throws Error, in words, if it is missing. */
function checkBrowser() {
  checkSecure();
  try {
    new DecompressionStream("deflate-raw");
  } catch {
    throw new Error("This browser cannot unpack the model's settings. Update it, or use another browser.");
  }
}

connect();
offerSamples();
await trying(async () => {
  checkBrowser();
  element("loading").textContent = "Loading…"; // ModelShelf.open clears it
  const keeping = await keepForOffline();
  if (!opening && !shelf.answerer) await openShipped(); // else the user was faster
  const loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
  const large = [SHIPPED, ...loaded.filter((name) => name.includes("/litert/wasm/"))];
  const kept = keeping === "yes" && (await Promise.all(large.map((url) => caches.match(url)))).every(Boolean);
  const isNotAsked = keeping === "yes" && (opening || shelf.from !== null); // a file that the user opened came first
  const missing = keeping === "late" || isNotAsked ? "Load it once more to use it offline." : "This browser does not keep it for offline use.";
  element("offline").textContent = kept ? "It works offline from now on." : missing;
});
