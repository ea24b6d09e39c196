// The tabs: which answers each of them shows, and what can be done there.
import { post } from "./api.js";
import { byId, h, say } from "./dom.js";
import { Job } from "./jobs.js";
import { Card, saved } from "./parts.js";
import { RegionEditor } from "./places.js";
import { GraphEditor } from "./secrets.js";

/** Several answers at one glance: the pictures that follow the slider. */
class Glance {
  constructor(titles) {
    this.cards = ["guess", "noise", "epsilon"].map(name => new Card(name, titles[name], { height: 300, brief: true }));
    this.element = h("div", { class: "pictures" }, this.cards.map(card => h("section", {}, h("h3", {}, card.title), card.element)));
    this.parts = this.cards.map(card => card.name);
  }

  /** Only what is drawn here: a slider is in a hurry. */
  settings() {
    return { brief: true };
  }

  show(name, part, hash) {
    return this.cards.find(card => card.name === name).show(part, hash);
  }

  clear() {
    this.cards.forEach(card => card.clear());
  }
}

/** One answer that comes at once. */
class Single {
  constructor(name, title, options) {
    this.card = new Card(name, title, options);
    this.element = this.card.element;
    this.parts = [name];
  }

  async show(name, part, hash) {
    await this.card.show(part, hash);
    this.extra?.(part, hash);
  }

  clear() {
    this.card.clear();
  }
}

class Secrets extends Single {
  constructor(name, title, { change }) {
    super(name, title);
    this.editor = new GraphEditor(change);
    this.card.picture.element.before(this.card.extra);
  }

  show(name, { figure, ...rest }, hash) {
    return super.show(name, rest.graph ? rest : { ...rest, figure }, hash);
  }

  extra(part, hash) {
    this.card.extra.replaceChildren(...(part.graph ? [this.editor.element] : []));
    if (part.graph) this.editor.show(part.graph, hash);
  }

  clear() {
    super.clear();
    this.editor.drawing.replaceChildren();
    delete this.editor.drawing.dataset.hash;
  }
}

class Places extends Single {
  constructor(name, title, { change }) {
    super(name, title, { height: 480, layout: { dragmode: "drawrect", newshape: { line: { color: "#b3361f", width: 2 }, drawdirection: "diagonal" } } });
    this.editor = new RegionEditor(change);
  }

  extra(part) {
    this.card.extra.replaceChildren(...(part.region ? [this.editor.element] : []));
    if (!part.region) return;
    // The same numbers, to be changed.
    this.card.facts.replaceChildren();
    this.editor.show(part.region);
    const drawing = this.card.picture.place;
    if (!part.figure) return;
    drawing.removeAllListeners("plotly_relayout");
    drawing.on("plotly_relayout", ({ shapes }) => { if (shapes?.length) this.editor.drawn(shapes.at(-1)); });
  }
}

class Proofs extends Single {
  extra(part) {
    this.card.extra.replaceChildren(...(part.downloads?.length ? [h("h3", {}, "Check this yourself"), saved(part.downloads)] : []));
  }
}

/** An answer that takes a while: asked for when its tab is open and the text stands still. */
class Long {
  constructor(name, title, { text }) {
    this.parts = [];
    this.text = text;
    this.card = new Card(name, title);
    this.element = h("div", {}, this.card.element);
  }

  settings() {
    return {};
  }

  /** The text is another one: what is shown of the old one goes, and the new one is asked for. */
  follow(hash) {
    const asked = JSON.stringify([hash, this.settings()]);
    if (asked === this.asked) return;
    this.card.clear();
    this.asked = asked;
    this.card.hash = hash;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.start(hash), 300);
  }

  async start(hash) {
    try {
      await this.card.job.start(this.text(), this.settings());
    } catch (error) {
      await this.card.show({ refused: error.message }, hash);
    }
  }

  /** Unfinished work is not wanted behind another tab. */
  leave() {
    clearTimeout(this.timer);
    if (this.card.part) return;
    this.asked = null;
    this.card.job.leave();
  }

  clear() {
    clearTimeout(this.timer);
    this.asked = null;
    this.card.clear();
  }
}

class Compare extends Long {
  constructor(name, title, options) {
    super(name, title, options);
    this.first = options.start;
    this.other = h("textarea", { id: "other", rows: 10, spellcheck: "false", wrap: "off" });
    this.opened();
    this.pick = h("select", { id: "pick" }, h("option", { value: "" }, "…"),
      h("option", { value: "now" }, "the file as it is now"), h("option", { value: "start" }, "the file as it was opened"),
      options.start.examples.map(item => h("option", { value: `open:${item}` }, item)));
    this.pick.addEventListener("change", () => this.take());
    this.other.addEventListener("input", () => this.follow(this.card.hash));
    this.element.prepend(h("details", { class: "other" }, h("summary", {}, "A is the file; B is this text"),
      h("p", {}, h("label", { for: "pick" }, "Take for B "), this.pick),
      h("label", { for: "other" }, "B"), this.other));
  }

  settings() {
    return { other: this.other.value };
  }

  opened() {
    this.other.value = this.first.text;
  }

  async take() {
    const { value } = this.pick;
    if (value === "now") this.other.value = this.text();
    else if (value === "start") this.opened();
    this.pick.value = "";
    try {
      if (value.startsWith("open:")) this.other.value = (await post("open", { name: value.slice(5) })).text;
    } catch (error) {
      return say(error.message, true);
    }
    this.follow(this.card.hash);
  }
}

const TABS = [
  ["glance", "At a glance", Glance],
  ["guess", "The guess", Single],
  ["noise", "The published number", Single],
  ["epsilon", "Against ε", Single],
  ["releases", "Over releases", Single],
  ["compare", "Compare A and B", Compare],
  ["design", "Error against leak", Long],
  ["secrets", "What must stay hidden", Secrets],
  ["places", "Places", Places],
  ["inference", "What else it tells", Long],
  ["release", "What a release would do", Single],
  ["budget", "Budget", Single],
  ["proofs", "Proofs", Proofs],
];

export class Tabs {
  constructor(options, ask) {
    this.ask = ask;
    const told = Object.fromEntries(options.start.parts.map(part => [part.name, part.title]));
    const titles = Object.fromEntries(TABS.map(([name, title]) => [name, told[name] ?? title]));
    this.views = TABS.map(([name, , View]) => {
      const title = titles[name];
      const view = View === Glance ? new Glance(titles) : new View(name, title, options);
      const tab = h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => this.choose(name) }, title);
      const panel = h("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, hidden: true }, view.element);
      return { name, view, tab, panel };
    });
    byId("tabs").replaceChildren(...this.views.map(item => item.tab));
    byId("panels").replaceChildren(...this.views.map(item => item.panel));
    byId("tabs").addEventListener("keydown", event => this.key(event));
    this.hash = null;
    this.select("glance");
  }

  get shown() {
    return this.views.find(item => item.name === this.name);
  }

  key(event) {
    const position = this.views.indexOf(this.shown);
    const last = this.views.length - 1;
    const next = { ArrowRight: position === last ? 0 : position + 1, ArrowLeft: position === 0 ? last : position - 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.choose(this.views[next].name);
    this.shown.tab.focus();
  }

  select(name) {
    this.name = name;
    for (const item of this.views) {
      const here = item.name === name;
      item.tab.setAttribute("aria-selected", String(here));
      item.tab.tabIndex = here ? 0 : -1;
      item.panel.hidden = !here;
    }
  }

  choose(name) {
    if (name === this.name) return;
    this.shown.view.leave?.();
    this.select(name);
    this.shown.tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (this.shown.view.follow) this.shown.view.follow(this.hash);
    else this.ask();
  }

  /** The answers that can be seen, and who shows each, as long as it can be seen. */
  wanted() {
    const { view } = this.shown;
    const shows = (name, part, hash) => (view === this.shown.view ? view.show(name, part, hash) : null);
    return { parts: view.parts, settings: view.settings?.() ?? {}, shows };
  }

  /** Another file: what was kept of the first one for comparison is of no use. */
  opened() {
    for (const { view } of this.views) view.opened?.();
  }

  /** A new state of the file: pictures of an older one are taken away wherever they are not drawn anew. */
  turn(hash) {
    if (hash === this.hash) return;
    this.hash = hash;
    for (const item of this.views) if (item.name !== this.name || hash === null) item.view.clear();
    if (hash !== null) this.shown.view.follow?.(hash);
  }
}
