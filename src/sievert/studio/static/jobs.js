// Long work: shown with its progress, cancelled by hand or when it is no longer wanted.
import { get, post, remove } from "./api.js";
import { h, say } from "./dom.js";

const POLL = [60, 120, 200, 300];

export class Job {
  /** @param shown called with the answer, or with why there is none. */
  constructor(part, shown) {
    Object.assign(this, { part, shown });
    this.id = null;
    this.turn = 0;
    this.bar = h("progress", { "aria-label": "Progress" });
    this.words = h("span", { class: "soft" });
    this.stop = h("button", { type: "button", onclick: () => this.cancelled() }, "Cancel");
    this.again = h("button", { type: "button", hidden: true }, "Compute");
    this.element = h("div", { class: "job", hidden: true }, this.bar, this.words, this.stop, this.again);
  }

  /** Ask for a part of this text, in place of whatever was asked before. */
  async start(text, settings) {
    this.leave();
    const turn = this.turn;
    this.asked = () => this.start(text, settings);
    this.waits("waiting");
    const { job } = await post("jobs", { text, part: this.part, settings });
    if (turn !== this.turn) return remove(`jobs/${job}`);
    await this.follow(job);
  }

  /** Wait for a job, telling how far it is. */
  async follow(job) {
    if (this.id !== job) this.leave();
    this.id = job;
    const { turn } = this;
    this.waits("waiting");
    for (let round = 0; ; round += 1) {
      await new Promise(done => { setTimeout(done, POLL[Math.min(round, POLL.length - 1)]); });
      if (turn !== this.turn) return;
      const found = await get(`jobs/${job}`);
      if (turn !== this.turn) return;
      if (found.state !== "waiting" && found.state !== "running") return this.ended(found);
      this.tell(found);
    }
  }

  tell({ state, progress }) {
    if (progress?.total) Object.assign(this.bar, { max: progress.total, value: progress.done });
    else this.bar.removeAttribute("value");
    this.words.textContent = progress?.words || state;
  }

  ended({ state, answer, message }) {
    this.id = null;
    this.element.hidden = true;
    if (state === "done") return this.shown(answer);
    if (state === "failed") return this.shown({ refused: message ?? answer?.message ?? "It could not be computed." });
    return this.standing();
  }

  cancelled() {
    this.leave();
    this.standing();
    this.again.focus();
    say("Cancelled.");
  }

  /** Cancelled, with a button to ask again. */
  standing() {
    this.element.hidden = false;
    this.bar.hidden = this.stop.hidden = true;
    this.again.hidden = !this.asked;
    this.again.onclick = () => this.asked();
    this.words.textContent = "Cancelled.";
  }

  /** No longer wanted: the server is told, and nobody waits for its word. */
  leave() {
    const { id } = this;
    this.turn += 1;
    this.id = null;
    this.element.hidden = true;
    if (id !== null) remove(`jobs/${id}`).catch(error => say(error.message, true));
  }

  waits(text) {
    this.element.hidden = false;
    this.bar.hidden = this.stop.hidden = false;
    this.again.hidden = true;
    this.bar.removeAttribute("value");
    this.words.textContent = text;
  }
}
