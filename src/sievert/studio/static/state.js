// One text, the name of its file, and their undo list. Changes wait here until the server has made them; one request is in flight, and what
// waits is always the newest: a change of a key takes the place of an older one of the same key.
import { Refusal, lines } from "./api.js";
import { awaited, outcome } from "./jobs.js";

// Changes from one source within this time (milliseconds) are one step of the undo list.
const ONE_STEP = 900;
const LONGEST = 500;

const keyOf = edit => JSON.stringify(edit.control ?? edit.path);

export class State {
  /** @param callbacks what is wanted of a text and who shows it, who shows that it is right or wrong, its headline, that work is under way, and what failed. */
  constructor({ wanted, checked, headline, busy, failed }) {
    Object.assign(this, { wanted, checked, headline, busy, failed });
    this.text = this.name = "";
    this.answer = null;
    this.undone = [];
    this.done = [];
    this.waiting = new Map();
    this.version = 0;
    this.running = null;
    this.dirty = false;
    this.last = { source: null, at: 0 };
  }

  /** Changes of keys, or of what a slider stands for, made together. */
  edit(...changes) {
    for (const change of changes) {
      this.waiting.delete(keyOf(change));
      this.waiting.set(keyOf(change), change);
    }
    return this.ask();
  }

  /** The whole text anew, as it was typed, or opened by a name. */
  replace(text, source, name = this.name) {
    if (text === this.text && name === this.name && this.answer?.ok) return this.settled();
    if (text !== this.text || name !== this.name) this.keep(text, source, name);
    this.version += 1;
    return this.ask();
  }

  undo() {
    this.step(this.done, this.undone);
  }

  redo() {
    this.step(this.undone, this.done);
  }

  step(from, to) {
    if (!from.length) return;
    to.push([this.text, this.name]);
    [this.text, this.name] = from.pop();
    this.waiting.clear();
    this.last = { source: null, at: 0 };
    this.version += 1;
    this.ask();
  }

  /** Ask for everything that can be seen; what is asked meanwhile waits for its turn. */
  ask() {
    this.dirty = true;
    this.running ??= this.rounds().finally(() => { this.running = null; });
    return this.running;
  }

  settled() {
    return this.running ?? Promise.resolve();
  }

  async rounds() {
    this.busy(true);
    try {
      while (this.dirty) {
        this.dirty = false;
        await this.round();
      }
    } catch (error) {
      this.failed(error);
    } finally {
      this.busy(false);
    }
  }

  /** Edits, headline and pictures of one text, each shown as it comes. */
  async round() {
    const { version } = this;
    const edits = [...this.waiting.values()];
    const { parts, settings, shows } = this.wanted();
    const drawn = [];
    let first = null;
    try {
      const asked = { text: this.text, edits: edits.map(({ source, ...edit }) => edit), parts: ["headline", ...parts], settings };
      for await (const line of lines("answer", asked)) {
        // Whole text replaced meanwhile: the changes are made again, to the newer one.
        if (version !== this.version) return;
        if (first === null) first = this.made(line, edits);
        else if (line.message) throw new Refusal(422, line.message);
        else if (line.part === "headline") this.headline((first = { ...first, parts: { headline: line.answer } }));
        else drawn.push(shows(line.part, line.answer, first.hash));
      }
    } catch (error) {
      for (const edit of edits) this.forget(edit);
      throw error;
    }
    await Promise.all(drawn);
    await this.later(first, version);
  }

  /** The text as it is now. */
  made(found, edits) {
    for (const edit of edits) this.forget(edit);
    const source = edits.length ? keyOf(edits.at(-1)) : null;
    if (found.text !== this.text) this.keep(found.text, source);
    this.answer = found;
    this.checked(found);
    return found;
  }

  /** A headline that takes a while, unless something newer waits. */
  async later(first, version) {
    const { job } = first?.parts?.headline ?? {};
    if (!job) return;
    const found = await awaited(job, () => version === this.version && !this.dirty, () => {});
    if (found !== null && version === this.version) this.headline({ ...first, parts: { headline: outcome(found) } });
  }

  /** Only if no newer change of the same key has taken its place. */
  forget(edit) {
    if (this.waiting.get(keyOf(edit)) === edit) this.waiting.delete(keyOf(edit));
  }

  keep(text, source, name = this.name) {
    const at = performance.now();
    const same = source !== null && source === this.last.source && at - this.last.at < ONE_STEP;
    if (!same) this.done.push([this.text, this.name]);
    if (this.done.length > LONGEST) this.done.shift();
    this.undone.length = 0;
    this.last = { source, at };
    [this.text, this.name] = [text, name];
  }
}
