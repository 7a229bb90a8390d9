/** The answer on the page: marked in its text, with its score, the runners-up and times. */

import { element, textElement } from "./elements.mjs";

const SHOWN = 4; // runners-up
const LONGEST_SHOWN = 120;

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const milliseconds = (ms) => `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;

/** Show what `QuestionAnswerer.ask` returned for this text. */
export function showAnswer(answer, text) {
  const { candidates, scores, answered } = answer;
  element("best").replaceChildren(...(answered ? bestAnswer(answer, text) : noAnswer(answer, text)));
  if (answered) mark(candidates[0], text);
  const rest = candidates.slice(answered ? 1 : 0).slice(0, SHOWN);
  const items = rest.map((candidate, i) => runnerUp(candidate, scores[i + (answered ? 1 : 0)], text));
  const list = document.createElement("ol");
  list.setAttribute("aria-label", "Other possible answers");
  list.append(...items);
  element("others").replaceChildren(...(items.length ? [list] : []));
  showMeasurements(answer);
}

function bestAnswer({ candidates: [best], scores: [score], calibrated }, text) {
  const name = calibrated ? "right with a probability of" : "softmax";
  const small = textElement("small", `Score ${best.score.toFixed(2)} · ${name} ${percent(score)}`);
  return [shown(best, text), small];
}

function noAnswer({ candidates }, text) {
  if (!candidates.length) return ["No answer in this text", textElement("small", "The text has no words.")];
  const notSure = textElement("small", `Not sure: ${shown(candidates[0], text)}`);
  return ["No answer in this text", notSure, textElement("small", "The model reads English only. These came closest:")];
}

function shown(candidate, text) {
  const words = text.slice(candidate.start, candidate.end).replace(/\s+/g, " ");
  return words.length > LONGEST_SHOWN ? `${words.slice(0, LONGEST_SHOWN)}…` : words;
}

function runnerUp(candidate, score, text) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-pressed", "false");
  button.append(textElement("span", shown(candidate, text)), textElement("span", percent(score)));
  button.addEventListener("click", () => {
    mark(candidate, text);
    for (const other of element("others").querySelectorAll("button")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
  });
  const item = document.createElement("li");
  item.append(button);
  return item;
}

/** Show the text with a candidate marked, and scroll it into sight. */
function mark({ start, end }, text) {
  const reading = element("reading");
  const marked = textElement("mark", text.slice(start, end));
  reading.replaceChildren(text.slice(0, start), marked, text.slice(end));
  reading.hidden = false;
  element("passage").hidden = true;
  element("edit").hidden = false;
  reading.scrollTop = marked.offsetTop - reading.clientHeight / 3;
}

function showMeasurements({ windows, windowsInText, tokenizeMs, inferenceMs }) {
  const partly = windows < windowsInText;
  element("windows").textContent = partly
    ? `Read the ${windows} of ${windowsInText} windows that are most similar to the question.`
    : "";
  element("read-all").hidden = !partly;
  const read = windows === 1 ? "1 window" : `${windows} windows`;
  element("times").textContent =
    `${read} · tokenizing ${milliseconds(tokenizeMs)} · model ${milliseconds(inferenceMs)}. ` +
    "A browser's times are not an app's.";
}
