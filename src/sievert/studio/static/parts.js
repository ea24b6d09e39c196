// One answer as a card: its sentence, its picture, its facts, the table behind the picture, or why there is none.
import { draw, erase } from "./figures.js";
import { cell, grid, h, words } from "./dom.js";

export class Card {
  constructor(name, title, { height = 420, layout = {} } = {}) {
    Object.assign(this, { name, title, height, layout });
    this.sentence = h("p", { class: "sentence" });
    this.drawing = h("div", { class: "drawing", role: "img", hidden: true });
    this.figure = h("figure", { "data-part": name, hidden: true }, this.drawing);
    this.facts = h("dl", { class: "tiles" });
    this.table = h("details", { class: "behind", hidden: true });
    this.more = h("div", { class: "more-of-it" });
    this.element = h("div", { class: "card" }, this.sentence, this.figure, this.facts, this.more, this.table);
  }

  async show(part, hash) {
    this.hash = hash;
    this.part = part;
    this.element.dataset.hash = hash;
    this.sentence.replaceChildren(...words(part.refused ?? part.sentence ?? ""));
    this.sentence.classList.toggle("refused", Boolean(part.refused));
    this.facts.replaceChildren(...(part.facts ?? []).map(fact =>
      h("div", {}, h("dt", {}, fact.name), h("dd", {}, cell(fact.value), fact.unit ? ` ${fact.unit}` : ""))));
    this.tabulate(part.table);
    await this.picture(part, hash);
  }

  async picture(part, hash) {
    const drawn = Boolean(part.figure);
    this.figure.hidden = this.drawing.hidden = !drawn;
    if (!drawn) return erase(this.drawing);
    this.drawing.setAttribute("aria-label", `${this.title}. ${part.sentence ?? ""}`);
    await draw(this.drawing, part.figure, hash, { height: this.height, layout: this.layout });
  }

  tabulate(table) {
    this.table.hidden = !table;
    if (!table) return this.table.replaceChildren();
    const open = this.table.open;
    this.table.replaceChildren(
      h("summary", {}, this.part.figure || this.part.graph ? "The numbers behind this picture" : "The numbers"), grid(table));
    this.table.open = open || !(this.part.figure || this.part.graph);
  }

  /** What was shown is of an older text. */
  clear() {
    this.hash = null;
    this.part = null;
    delete this.element.dataset.hash;
    erase(this.drawing);
    this.figure.hidden = true;
    this.table.hidden = true;
    this.sentence.replaceChildren();
    this.facts.replaceChildren();
    this.more.replaceChildren();
  }
}

/** Files to be saved from the page, made of what is already in it. */
export function saved(downloads) {
  return h("ul", { class: "downloads" }, downloads.map(({ name, content, type, sentence }) => h("li", {},
    h("a", { download: name, href: URL.createObjectURL(new Blob([content], { type: type ?? "application/json" })) }, name),
    sentence ? [" ", ...words(sentence)] : null)));
}
