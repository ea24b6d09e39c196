// The studio: the file on the left, its answers on the right, one text between them.
import { download, get, post } from "./api.js";
import { Backward, Slider } from "./controls.js";
import { byId, cell, h, keep, say, words } from "./dom.js";
import { moving, redraw } from "./figures.js";
import { Form, said } from "./form.js";
import { State } from "./state.js";
import { Tabs } from "./views.js";

async function begin() {
  const made = get("form");
  const file = await get("start");
  const text = byId("text");
  text.value = file.text;
  named(file.name);
  const start = { ...file, ...await made };
  byId("colophon").textContent = `Sievert ${start.version}. Everything on this page is computed on this machine; nothing leaves it, and no private data are read.`;

  let typing = null;
  const change = (...edits) => state.edit(...edits);
  const state = new State({
    wanted: () => tabs.wanted(),
    checked: answer => checked(answer),
    headline: verdict,
    busy: value => {
      if (value) backward.stop();
      else if (state.answer?.ok) backward.later();
      moving(value);
      idle(!value && typing === null);
    },
    failed,
  });
  const form = new Form(start.sections, change);
  const sliders = {
    eps: new Slider("eps", { title: "ε of one release", ends: ["more privacy", "more accuracy"], whole: false }, change),
    releases: new Slider("releases", { title: "Releases of the same data", ends: ["one", "many"], whole: true }, change),
  };
  const backward = new Backward(start.quantities, () => (state.answer?.ok ? state.text : null), change);
  const tabs = new Tabs({ change, text: () => state.text, start }, () => state.ask());

  function checked(answer) {
    const { ok, document: tables, errors = [], controls = {} } = answer;
    if (text.value !== state.text && !(document.activeElement === text && typing)) text.value = state.text;
    named(state.name);
    heard();
    form.show(tables, errors);
    complaints(errors);
    // A change that was refused leaves the file, and its answers, as they were.
    if (!ok && answer.hash && answer.hash === tabs.hash) return;
    byId("undo").disabled = !state.done.length;
    byId("redo").disabled = !state.undone.length;
    for (const [name, slider] of Object.entries(sliders)) slider.show(controls?.[name], state.waiting.has(JSON.stringify(name)));
    if (!ok) verdict(answer);
    tabs.turn(ok ? answer.hash : null);
    if (ok) backward.stop();
    else backward.clear();
  }

  const written = () => {
    if (typing === null) return;
    clearTimeout(typing);
    typing = null;
    state.replace(text.value, "typed");
    if (state.running === null) idle(true);
  };
  text.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(written, 180);
    idle(false);
  });
  text.addEventListener("blur", written);
  text.readOnly = false;

  tools(state, start, tabs, written);
  Object.assign(state, { text: start.text, name: start.name });
  await state.ask();
  document.body.dataset.ready = "true";
}

/** Whose text stands on the page. */
function named(name) {
  byId("name").textContent = name;
  document.title = `${name} · Sievert studio`;
}

/** What went wrong before is over once there is an answer. */
function heard() {
  if (byId("said").classList.contains("bad")) say("");
}

/** The answer in one sentence, and what to compare it with. */
function verdict({ ok, hash, errors = [], parts = {} }) {
  const place = byId("headline");
  const part = parts.headline ?? {};
  byId("verdict").classList.toggle("good", ok && part.good === true);
  byId("verdict").classList.toggle("bad", !ok || part.good === false);
  place.dataset.hash = hash ?? "";
  if (!ok) {
    place.replaceChildren(h("p", {}, words(errors.length ? said(errors[0]) : "The file cannot be read.")));
    return numbers();
  }
  place.replaceChildren(h("p", {}, words(part.job ? "Computing …" : part.refused ?? part.sentence)));
  numbers(part.facts);
}

/** The numbers of the headline. */
function numbers(facts = []) {
  byId("numbers").replaceChildren(...facts.map(({ name, value, unit }) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, cell(value), unit && unit !== "probability" && !String(value).endsWith(unit) ? ` ${unit}` : ""))));
}

function complaints(errors) {
  byId("errors").replaceChildren(...errors.map(error => h("li", {},
    error.line ? h("button", { type: "button", onclick: () => toLine(error.line) }, `line ${error.line}`) : null,
    " ", words(said(error)))));
}

/** The line of the text, chosen and in sight. */
function toLine(line) {
  const text = byId("text");
  const lines = text.value.split("\n");
  const from = lines.slice(0, line - 1).reduce((sum, item) => sum + item.length + 1, 0);
  text.focus();
  text.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  text.scrollTop = Math.max(0, (line - 4) * text.scrollHeight / Math.max(1, lines.length));
}

/** Whether everything that was asked has been answered. */
function idle(value) {
  document.body.setAttribute("aria-busy", String(!value));
  document.body.dataset.idle = String(value);
}

function failed(error) {
  say(error.message ?? String(error), true);
}

/** Undo, redo, open, copy, the report, dark and light. */
function tools(state, start, tabs, written) {
  // Words that are still being typed are a change, and the first to be undone.
  const undo = () => { written(); state.undo(); };
  const redo = () => { written(); state.redo(); };
  byId("undo").addEventListener("click", undo);
  byId("redo").addEventListener("click", redo);
  addEventListener("keydown", event => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    // What is no part of the file is undone by the browser.
    if ((key !== "z" && key !== "y") || event.target.matches("#other, #limit")) return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) redo();
    else undo();
  });
  // The studio writes no file: what was changed and not copied is on this page alone.
  addEventListener("beforeunload", event => {
    if (state.text !== start.text && state.text !== state.copied) event.preventDefault();
  });
  opening(state, start, tabs);
  byId("copy").addEventListener("change", async event => {
    const form = event.target.value;
    event.target.value = "";
    if (form) await copied(state, form).catch(failed);
  });
  byId("report").addEventListener("click", () => reported(state).catch(failed));
  shading();
  const file = byId("show-file");
  file.addEventListener("click", () => {
    const open = document.body.classList.toggle("file-open");
    file.setAttribute("aria-expanded", String(open));
  });
}

function opening(state, start, tabs) {
  const choices = byId("open");
  choices.replaceChildren(h("option", { value: "" }, "…"), ...start.examples.map(name => h("option", { value: name }, name)));
  choices.parentElement.hidden = !start.examples.length;
  choices.addEventListener("change", async () => {
    const name = choices.value;
    choices.value = "";
    try {
      const opened = await post("open", { name });
      start.text = opened.text;
      tabs.opened();
      await state.replace(opened.text, null, opened.name);
    } catch (error) {
      failed(error);
    }
  });
}

async function copied(state, form) {
  // The text itself needs no answer: a broken one is copied too, and one whose studio was stopped.
  const { content } = form === "toml" ? { content: state.text } : await post("export", { text: state.text, form, name: state.name });
  if (form === "toml") state.copied = content;
  const called = { toml: "TOML", python: "Python", command: "A command line" }[form];
  try {
    await navigator.clipboard.writeText(content);
    say(`${called} is on the clipboard.`);
  } catch {
    keep(new Blob([content], { type: "text/plain" }), { toml: "studio.toml", python: "studio.py", command: "studio.sh" }[form]);
    say(`${called} was saved: this browser gives pages no clipboard.`);
  }
}

async function reported(state) {
  say("Writing the report …");
  const { content, name } = await download("report", { text: state.text, name: state.name });
  keep(content, name);
  say(`${name} is in your downloads.`);
}

function shading() {
  const button = byId("theme");
  const tell = () => {
    const dark = document.documentElement.dataset.theme === "dark";
    button.setAttribute("aria-pressed", String(dark));
  };
  tell();
  button.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    try { localStorage.setItem("theme", dark ? "dark" : "light"); } catch { /* A browser that keeps nothing forgets the choice. */ }
    tell();
    redraw();
  });
}

begin().catch(failed);
