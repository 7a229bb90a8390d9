/** The answer on the page: marked in its text, with its probability, the runners-up and times. */

import { choice, element, textElement } from "./elements.mjs";

const SHOWN = 4; // runners-up
const LONGEST_SHOWN = 120;
const LEAST_SHOWN = 0.002; // probability of a runner-up that is worth a look

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const milliseconds = (ms) => `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;

/** Show what `QuestionAnswerer.ask` returned for this text. Where it declines, the best candidate is marked as unsure. */
export function showAnswer(answer, text) {
  const { answered } = answer;
  element("best").replaceChildren(headline(answer, text), textElement("small", likelihood(answer)));
  const places = distinctPlaces(answer, text);
  if (places.length) mark(places[0], text, answered);
  const likely = places.filter(({ score }, i) => i === 0 || score >= LEAST_SHOWN);
  const others = likely.slice(answered ? 1 : 0).slice(0, SHOWN);
  element("others").replaceChildren(...(others.length ? otherPlaces(others, text, answered) : []));
  showMeasurements(answer);
}

/** Return the answer's words, or that there is none. */
export function headline({ candidates, answered, noAnswer }, text) {
  if (answered) return wordsOf(candidates[0], text);
  return noAnswer > 0.5 ? "No answer in this text" : "No sure answer in this text";
}

function likelihood({ candidates, scores, answered, noAnswer, calibrated }) {
  if (!candidates.length) return "The text has no span that can be an answer.";
  const share = percent(answered ? scores[0] : noAnswer);
  if (!calibrated) return `Softmax score of ${answered ? "this answer" : "no answer"}: ${share}`;
  return `Probability that ${answered ? "this is right" : "the text has no answer"}: ${share}`;
}

function wordsOf({ start, end }, text) {
  const words = text.slice(start, end).replace(/\s+/g, " ");
  const characters = [...words]; // a cut between UTF-16 units could split one
  return characters.length > LONGEST_SHOWN ? `${characters.slice(0, LONGEST_SHOWN).join("")}…` : words;
}

/** Return {start, end, words, score} of the candidates, each wording once: "Batteries." is "batteries" again. */
function distinctPlaces({ candidates, scores }, text) {
  const places = new Map();
  for (const [i, { start, end }] of candidates.entries()) {
    const words = wordsOf({ start, end }, text);
    const wording = words.toLowerCase().replace(/[\s.,;:!?]+$/, "");
    if (!places.has(wording)) places.set(wording, { start, end, words, score: scores[i] });
  }
  return [...places.values()];
}

function otherPlaces(places, text, answered) {
  const caption = textElement("p", answered ? "Other possible answers" : "What comes closest");
  caption.id = "others-title";
  caption.className = "soft";
  const list = document.createElement("ol");
  list.className = "rows";
  list.setAttribute("aria-labelledby", caption.id);
  const choices = places.map((place) => {
    const made = choice(place.words, percent(place.score), () => {
      for (const { button } of choices) button.setAttribute("aria-pressed", String(button === made.button));
      mark(place, text, false).scrollIntoView({ block: "nearest" });
    });
    return made;
  });
  for (const [i, { button }] of choices.entries()) button.setAttribute("aria-pressed", String(!answered && i === 0));
  list.append(...choices.map(({ item }) => item));
  return [caption, list];
}

/** Show the text with a place marked, and return the mark. */
function mark({ start, end }, text, sure) {
  const reading = element("reading");
  const marked = textElement("mark", text.slice(start, end));
  marked.classList.toggle("unsure", !sure);
  reading.setAttribute("aria-label", sure ? "Text with the answer marked" : "Text with a possible answer marked");
  reading.replaceChildren(text.slice(0, start), marked, text.slice(end));
  reading.hidden = false;
  element("passage").hidden = true;
  element("edit").hidden = false;
  reading.scrollTop = marked.offsetTop - reading.clientHeight / 3;
  return marked;
}

/** Return sentences about tokens of the question and windows of the text that were not read; none if all were. */
export function leftOut({ questionTokensRead, questionTokens, windows, windowsInText }) {
  const said = [];
  if (questionTokensRead < questionTokens) {
    said.push(`Read the first ${questionTokensRead} of ${questionTokens} tokens of the question. Shorten it.`);
  }
  if (windows < windowsInText) {
    said.push(`Read the ${windows} of ${windowsInText} windows that are most similar to the question.`);
  }
  return said;
}

function showMeasurements(answer) {
  const { windows, windowsInText, tokenizeMs, inferenceMs } = answer;
  element("windows").textContent = leftOut(answer).join(" ");
  element("read-all").hidden = windows === windowsInText;
  const read = windows === 1 ? "1 window" : `${windows} windows`;
  element("times").textContent = `${read} · tokenizing ${milliseconds(tokenizeMs)} · model ${milliseconds(inferenceMs)}`;
}
