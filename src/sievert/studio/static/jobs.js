// Long work: asked for once a text has stood still, shown with its progress, cancelled when it is no longer wanted.
import { get, post, remove } from "./api.js";
import { h, say } from "./dom.js";

const POLL = [60, 120, 200, 300];

export class Job {
  /** @param shown called with the answer and its hash. */
  constructor(part, shown) {
    Object.assign(this, { part, shown });
    this.id = null;
    this.turn = 0;
    this.bar = h("progress", { "aria-label": "Progress" });
    this.words = h("span", { class: "soft" });
    this.stop = h("button", { type: "button", onclick: () => this.cancel(true) }, "Cancel");
    this.again = h("button", { type: "button", hidden: true }, "Compute");
    this.element = h("div", { class: "job", hidden: true }, this.bar, this.words, this.stop, this.again);
  }

  async start(text, settings) {
    await this.cancel(false);
    const turn = ++this.turn;
    this.again.onclick = () => this.start(text, settings);
    this.waits(true, "waiting");
    const { job } = await post("jobs", { text, part: this.part, settings });
    if (turn !== this.turn) return remove(`jobs/${job}`);
    this.id = job;
    for (let round = 0; turn === this.turn; round += 1) {
      await new Promise(done => { setTimeout(done, POLL[Math.min(round, POLL.length - 1)]); });
      if (turn !== this.turn) return;
      const found = await get(`jobs/${job}`);
      if (turn !== this.turn) return;
      if (this.tell(found)) return;
    }
  }

  /** Whether the job has ended. */
  tell({ state, progress, answer, message }) {
    if (state === "waiting" || state === "running") {
      if (progress?.total) Object.assign(this.bar, { max: progress.total, value: progress.done });
      else this.bar.removeAttribute("value");
      this.words.textContent = progress?.words ?? state;
      return false;
    }
    this.id = null;
    this.waits(false);
    if (state === "done") this.shown(answer);
    else if (state === "failed") this.shown({ refused: message ?? answer?.message ?? "It could not be computed." });
    return true;
  }

  async cancel(asked) {
    const { id } = this;
    this.turn += 1;
    this.id = null;
    this.waits(false);
    if (asked) {
      this.element.hidden = this.again.hidden = false;
      this.bar.hidden = this.stop.hidden = true;
      this.words.textContent = "Cancelled.";
      this.again.focus();
      say("Cancelled.");
    }
    if (id !== null) await remove(`jobs/${id}`);
  }

  waits(running, text = "") {
    this.element.hidden = !running;
    this.bar.hidden = this.stop.hidden = false;
    this.again.hidden = true;
    this.bar.removeAttribute("value");
    this.words.textContent = text;
  }
}
