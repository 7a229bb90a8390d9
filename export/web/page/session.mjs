/** The questions of this session, newest first. */

import { headline } from "./answer.mjs";
import { choice } from "./elements.mjs";

/** List of questions with their answers. A click shows an answer again. */
export class Session {
  #items = []; // {text, asked, item}

  /** The section is hidden while its list is empty; `show` gets what was added. */
  constructor(section, list, show) {
    this.section = section;
    this.list = list;
    this.show = show;
  }

  /** Add {text, asked, answer} in place of an earlier answer to the same question about the same text. */
  add(entry) {
    const { text, asked, answer } = entry;
    const same = this.#items.findIndex((earlier) => earlier.text === text && earlier.asked === asked);
    if (same >= 0) this.#items.splice(same, 1)[0].item.remove();
    const { item } = choice(asked, headline(answer, text), () => this.show(entry));
    this.#items.push({ text, asked, item });
    this.list.prepend(item);
    this.section.hidden = false;
  }
}
