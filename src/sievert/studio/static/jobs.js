// Long work: shown with its progress, cancelled by hand or when it is no longer wanted.
import { get, post, remove } from "./api.js";
import { h, say } from "./dom.js";

const POLL = [60, 120, 200, 300];

/** The end of a job, told as it goes; null, and the server told to stop, once it is no longer wanted. */
export async function awaited(job, wanted, tell) {
  for (let round = 0; ; round += 1) {
    await new Promise(done => { setTimeout(done, POLL[Math.min(round, POLL.length - 1)]); });
    if (!wanted()) {
      await remove(`jobs/${job}`);
      return null;
    }
    const found = await get(`jobs/${job}`);
    if (found.state !== "waiting" && found.state !== "running") return found;
    if (wanted()) tell(found);
  }
}

/** What is shown of a job that has ended. */
export const outcome = ({ state, answer, message }) =>
  (state === "done" ? answer : { refused: message ?? answer?.message ?? "It could not be computed." });

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
    this.leave();
    const { turn } = this;
    this.id = job;
    this.waits("waiting");
    const found = await awaited(job, () => turn === this.turn, state => this.tell(state));
    if (found !== null && turn === this.turn) await this.ended(found);
  }

  tell({ state, progress }) {
    if (progress?.total) Object.assign(this.bar, { max: progress.total, value: progress.done });
    else this.bar.removeAttribute("value");
    this.words.textContent = progress?.words || state;
  }

  ended(found) {
    this.id = null;
    this.element.hidden = true;
    return found.state === "cancelled" ? this.standing() : this.shown(outcome(found));
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

  /** No longer wanted: whoever waits for it tells the server. */
  leave() {
    this.turn += 1;
    this.id = null;
    this.element.hidden = true;
  }

  waits(text) {
    this.element.hidden = false;
    this.bar.hidden = this.stop.hidden = false;
    this.again.hidden = true;
    this.bar.removeAttribute("value");
    this.words.textContent = text;
  }
}
