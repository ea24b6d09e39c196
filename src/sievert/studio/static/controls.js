// The two sliders with their number boxes, and "I accept at most …" solved backwards.
import { post } from "./api.js";
import { byId, h, short, words } from "./dom.js";
import { typed } from "./toml.js";

const STEPS = 240;

/** A slider on a logarithmic or whole-numbered scale, and the same number in a box. */
export class Slider {
  constructor(name, { title, ends, whole }, change) {
    Object.assign(this, { name, whole, change });
    this.element = byId(name);
    this.range = h("input", { type: "range", id: `${name}-range`, min: "0", max: String(STEPS), step: "1", "aria-describedby": `${name}-least ${name}-most` });
    this.box = h("input", { type: "text", id: `${name}-box`, inputmode: "decimal", "aria-label": `${title}, as a number`, size: 7 });
    this.unit = h("span", { class: "unit" });
    this.reason = h("p", { class: "soft", hidden: true });
    this.element.replaceChildren(
      h("div", { class: "line" }, h("label", { for: `${name}-range` }, title), h("span", { class: "boxed" }, this.box, this.unit)),
      h("div", { class: "slide soft" }, h("span", { id: `${name}-least` }, ends[0]), this.range, h("span", { id: `${name}-most` }, ends[1])),
      this.reason);
    this.range.addEventListener("input", () => this.send(this.value(Number(this.range.value))));
    if (whole) this.range.addEventListener("keydown", event => this.pressed(event));
    this.box.addEventListener("change", () => this.typed());
    this.box.addEventListener("keydown", event => { if (event.key === "Enter") this.typed(); });
  }

  value(step) {
    const [low, high] = [Math.log(this.least), Math.log(this.most)];
    const found = Math.exp(low + (high - low) * step / STEPS);
    return this.whole ? Math.max(1, Math.round(found)) : Number(short(found, 3));
  }

  step(value) {
    const [low, high] = [Math.log(this.least), Math.log(this.most)];
    return Math.round(STEPS * Math.min(1, Math.max(0, (Math.log(Math.max(value, 1e-300)) - low) / (high - low))));
  }

  /** An arrow goes to another whole number: a step of the scale is less than one at its lower end. */
  pressed(event) {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = this.value(this.step(this.shown) + way);
    const value = way > 0 ? Math.min(this.most, Math.max(next, this.shown + 1)) : Math.max(1, Math.min(next, this.shown - 1));
    if (value === this.shown) return;
    this.range.value = String(this.step(value));
    this.send(value);
  }

  typed() {
    const value = typed(this.box.value);
    const fine = typeof value === "number" && (this.whole ? Number.isInteger(value) && value >= 1 : value > 0);
    if (fine) this.box.removeAttribute("aria-invalid");
    else this.box.setAttribute("aria-invalid", "true");
    if (fine && value !== this.shown) this.send(value);
  }

  send(value) {
    this.shown = value;
    this.tell(value);
    this.change({ control: this.name, value });
  }

  tell(value) {
    this.box.value = String(value);
    this.range.setAttribute("aria-valuetext", `${value}${this.unit.textContent}`);
  }

  /** What the file says; a change on its way is not moved back. */
  show(control, waiting) {
    const usable = Boolean(control) && typeof control.value === "number";
    this.range.disabled = this.box.disabled = !usable;
    this.reason.hidden = usable || !control?.reason;
    this.reason.replaceChildren(...words(control?.reason ?? ""));
    if (!usable) { this.box.value = ""; return; }
    this.least = control.value > 0 ? Math.min(control.least, control.value) : control.least;
    this.most = Math.max(control.most, control.value);
    this.unit.textContent = control.unit ? ` ${control.unit}` : "";
    if (waiting) return;
    this.box.removeAttribute("aria-invalid");
    this.shown = control.value;
    this.tell(this.whole ? control.value : Number(short(control.value, 6)));
    this.range.value = String(this.step(control.value));
  }
}

/** Four digits of a number, and not more than it: a smaller ε keeps every limit that a larger one keeps. */
function downward(value) {
  const scale = 10 ** (3 - Math.floor(Math.log10(value)));
  return Number(short(Math.floor(value * scale) / scale, 4));
}

/** The largest ε that keeps a limit: for this mechanism, and for any. */
export class Backward {
  constructor(quantities, text, change) {
    Object.assign(this, { text, change });
    this.quantities = new Map(quantities.map(item => [item.name, item]));
    this.limit = h("input", { type: "text", id: "limit", inputmode: "decimal", size: 6 });
    this.quantity = h("select", { id: "quantity", "aria-label": "of what" }, quantities.map(item => h("option", { value: item.name }, item.title)));
    this.answer = h("div", { class: "solved", role: "status" });
    this.asked = null;
    byId("backward").replaceChildren(
      h("div", { class: "line" }, h("label", { for: "limit" }, "I accept at most "), this.limit, this.quantity), this.answer);
    byId("backward").addEventListener("submit", event => event.preventDefault());
    this.limit.addEventListener("input", () => this.later(250));
    this.quantity.addEventListener("change", () => {
      this.limit.value = String(this.quantities.get(this.quantity.value)?.default ?? "");
      this.later(0);
    });
    this.limit.value = String(quantities[0]?.default ?? "");
  }

  clear() {
    this.stop();
    this.solved = null;
    this.answer.replaceChildren();
  }

  /** Something else is asked first. */
  stop() {
    clearTimeout(this.timer);
    this.asked?.abort();
    this.asked = null;
    this.answer.classList.toggle("stale", JSON.stringify(this.question()) !== this.solved);
  }

  /** Once nothing has changed for a while: the newest question takes the place of an older one. */
  later(wait = 350) {
    this.stop();
    this.timer = setTimeout(() => this.solve(), wait);
  }

  question() {
    return { text: this.text(), quantity: this.quantity.value, limit: typed(this.limit.value) };
  }

  async solve() {
    const question = this.question();
    if (this.limit.value.trim() === "" || question.text === null) return this.clear();
    if (JSON.stringify(question) === this.solved) return;
    const fine = typeof question.limit === "number";
    if (fine) this.limit.removeAttribute("aria-invalid");
    else this.limit.setAttribute("aria-invalid", "true");
    if (!fine) return this.show({ refused: "Give a number." });
    const asked = (this.asked = new AbortController());
    try {
      const found = await post("backward", question, asked.signal);
      if (asked !== this.asked) return;
      this.solved = JSON.stringify(question);
      this.show(found);
    } catch (error) {
      if (asked === this.asked) this.show({ refused: error.message });
    }
  }

  show(found) {
    this.answer.classList.remove("stale");
    if (found.refused) return this.answer.replaceChildren(h("p", { class: "soft" }, words(found.refused)));
    this.answer.replaceChildren(...["this", "any"].filter(name => found[name]).map(name => {
      const { eps, sentence } = found[name];
      const taken = typeof eps === "number" && eps > 0 ? downward(eps) : 0;
      return h("p", {}, name === "any" ? "Any mechanism: " : "", words(sentence), " ", taken > 0
        ? h("button", { type: "button", onclick: () => this.change({ control: "eps", value: taken }) }, `Take ε = ${taken}`)
        : null);
    }));
  }
}
