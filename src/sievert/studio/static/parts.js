// One answer as a card: its sentence, its picture, its facts, the table behind the picture, or why there is none.
import { cell, grid, h, keep, words } from "./dom.js";
import { draw, erase } from "./figures.js";
import { Job } from "./jobs.js";

const NUMBERS = "The numbers behind this picture";

export class Card {
  constructor(name, title, { height = 420, layout = {}, brief = false } = {}) {
    Object.assign(this, { name, title, height, layout, brief });
    this.sentence = h("p", { class: "sentence" });
    this.picture = new Drawing(name, { height, layout });
    this.facts = h("dl", { class: "tiles" });
    this.extra = h("div", { class: "extra" });
    this.rest = h("div", { class: "rest" });
    this.job = new Job(name, part => this.show(part, this.hash));
    this.heading = h("h3", { hidden: true });
    this.element = h("div", { class: "card" },
      this.job.element, this.sentence, this.heading, this.picture.element, this.facts, this.extra, this.rest);
    this.further = [];
  }

  /** Show a part of the state `hash`; one that is still being computed brings its progress first. */
  async show(part, hash) {
    this.hash = hash;
    if (part.job) return this.job.follow(part.job);
    this.job.leave();
    this.part = part;
    this.element.dataset.hash = hash;
    this.sentence.replaceChildren(...words(part.refused ?? part.sentence ?? ""), ...(part.nearest ? [" ", ...words(part.nearest)] : []));
    this.sentence.classList.toggle("refused", Boolean(part.refused));
    this.facts.replaceChildren(...(part.facts ?? []).map(fact =>
      h("div", {}, h("dt", {}, fact.name), h("dd", {}, cell(fact.value), fact.unit ? ` ${fact.unit}` : ""))));
    this.heading.hidden = this.brief || !part.heading || !part.more?.length;
    this.heading.replaceChildren(...words(part.heading ?? ""));
    await Promise.all([this.picture.show(part, hash, this.title), this.brief ? null : this.more(part, hash)]);
  }

  /** Further pictures and tables, and every sentence of the answer. */
  more({ more = [], sections = [] }, hash) {
    while (this.further.length > more.length) this.further.pop().clear();
    while (this.further.length < more.length) this.further.push(new Drawing(this.name, { height: this.height }));
    this.rest.replaceChildren(
      ...more.flatMap((item, i) => [item.heading ? h("h3", {}, words(item.heading)) : "", this.further[i].element]),
      ...sections.map(([heading, sentences]) => h("section", { class: "said-of-it" },
        h("h3", {}, words(heading)), h("div", {}, sentences.map(sentence => h("p", {}, words(sentence)))))));
    return Promise.all(more.map((item, i) => this.further[i].show(item, hash, item.heading ?? this.title)));
  }

  /** What was shown is of an older text. */
  clear() {
    this.hash = this.part = null;
    this.job.leave();
    delete this.element.dataset.hash;
    for (const drawing of [this.picture, ...this.further]) drawing.clear();
    this.further = [];
    for (const place of [this.sentence, this.heading, this.facts, this.extra, this.rest]) place.replaceChildren();
  }
}

/** A picture with its caption and the table behind it; a table without a picture stands open. */
class Drawing {
  constructor(name, options) {
    this.options = options;
    this.place = h("div", { class: "drawing", role: "img" });
    this.caption = h("figcaption", {});
    this.figure = h("figure", { "data-part": name, hidden: true }, this.place, this.caption);
    this.table = h("details", { class: "behind", hidden: true });
    this.alone = h("div", {});
    this.element = h("div", { class: "drawn" }, this.figure, this.table, this.alone);
  }

  async show({ figure, table, caption, sentence, graph }, hash, title) {
    this.figure.hidden = !figure;
    this.caption.replaceChildren(...words(caption ?? ""));
    // Behind a picture, what the picture says already is not said again.
    this.tabulate(table && figure && table.caption === caption ? { ...table, caption: "" } : table, Boolean(figure || graph));
    if (!figure) return erase(this.place);
    this.place.setAttribute("aria-label", [title, caption ?? sentence ?? ""].filter(Boolean).join(". "));
    await draw(this.place, figure, hash, this.options);
  }

  /** Behind a picture made only once it is looked at: a table may be long, and a slider is in a hurry. */
  tabulate(table, behind) {
    this.table.hidden = !table || !behind;
    this.alone.replaceChildren(...(table && !behind ? [grid(table)] : []));
    if (this.table.hidden) return this.table.replaceChildren();
    const fill = () => {
      if (this.table.open && this.table.children.length < 2) this.table.append(grid(table));
    };
    this.table.replaceChildren(h("summary", {}, NUMBERS));
    this.table.ontoggle = fill;
    fill();
  }

  clear() {
    erase(this.place);
    this.figure.hidden = this.table.hidden = true;
    this.table.open = false;
    this.table.replaceChildren();
    this.alone.replaceChildren();
  }
}

/** Files to be saved from the page, made of what is already in it. */
export function saved(downloads) {
  return h("ul", { class: "downloads" }, downloads.map(({ name, content, type = "application/json", sentence }) => h("li", {},
    h("button", { type: "button", onclick: () => keep(new Blob([content], { type }), name) }, `Save ${name}`),
    sentence ? [" ", ...words(sentence)] : null)));
}
