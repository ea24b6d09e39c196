// The file as a form, made from the schema in the order of the file: a change of a field is a change of its key.
import { byId, h, words } from "./dom.js";
import { at, typed, written } from "./toml.js";

let serial = 0;

export class Form {
  /** @param forms the sections of every kind of file, by the table that tells it: policy, documents or vectors. */
  constructor(forms, change) {
    Object.assign(this, { forms, change });
    this.element = byId("form");
    this.element.addEventListener("submit", event => event.preventDefault());
    this.become("policy");
  }

  /** The form of another kind of file. */
  become(kind) {
    if (kind === this.kind) return;
    this.kind = kind;
    this.sections = this.forms[kind].map(section => new Section(section, this.change));
    this.element.replaceChildren(...this.sections.map(section => section.element));
  }

  /** Show a file with the errors at their keys; what is being typed is left alone. */
  show(file, errors) {
    if (file) this.become(Object.keys(this.forms).find(kind => kind in file) ?? this.kind);
    for (const section of this.sections) {
      section.mark(errors);
      if (file) section.show(file);
      section.mark(errors);
    }
  }
}

class Section {
  constructor(spec, change) {
    Object.assign(this, { spec, change });
    this.body = h("div", { class: "fields" });
    this.title = h("span", {}, spec.key ? spec.title ?? spec.key : "Title");
    // The key stands in the text below; a help that says what the title says is said once.
    const help = (spec.help ?? "").replace(/^\[+[^\]]*\]+: /, "");
    const told = help.replace(/\.$/, "").toLowerCase() === this.title.textContent.toLowerCase();
    this.note = h("span", { class: "soft" });
    this.trouble = h("p", { class: "trouble", hidden: true });
    this.element = h("details", { class: "section", "data-section": spec.key },
      h("summary", {}, this.title, " ", this.note),
      help && !told ? h("p", { class: "soft" }, words(help[0].toUpperCase() + help.slice(1))) : null, this.trouble, this.body);
    this.fields = [];
    this.signature = null;
  }

  get root() {
    return this.spec.key ? [this.spec.key] : [];
  }

  show(file) {
    const value = at(file, this.root);
    const present = value !== undefined || !this.spec.key;
    const roots = Array.isArray(value) ? value.map((_, i) => [...this.root, i]) : [this.root];
    const groups = roots.map(root => ({ root, fields: this.specs(file, root) }));
    const signature = JSON.stringify(groups.map(group => [group.root, group.fields.map(field => [field.path, field.rare])]));
    if (signature !== this.signature) this.build(groups, signature);
    for (const field of this.fields) field.show(at(file, field.path));
    this.note.textContent = present ? "" : "not given";
    if (!this.opened) {
      this.opened = true;
      this.element.open = present && ["policy", "documents", "vectors", "query", "mechanism", "adversary", "accept"].includes(this.spec.key);
    } else if (present && this.absent) this.element.open = true;
    this.absent = !present;
  }

  /** The fields of this table: those of every kind and those of its own. A rare key that is given is not hidden. */
  specs(file, root) {
    const moved = field => {
      const path = [...root, ...field.path.slice(this.root.length)];
      return { ...field, path, rare: Boolean(field.rare) && at(file, path) === undefined };
    };
    const fields = this.spec.fields.map(moved);
    const { kind_path: by, variants } = this.spec;
    if (!by || !variants) return fields;
    const kind = at(file, [...root, ...by.slice(this.root.length)]);
    const known = new Set(fields.map(field => JSON.stringify(field.path)));
    return [...fields, ...(variants[kind] ?? []).map(moved).filter(field => !known.has(JSON.stringify(field.path)))];
  }

  build(groups, signature) {
    const focused = document.activeElement?.closest(".field")?.dataset.path;
    const inside = this.body.contains(document.activeElement);
    this.signature = signature;
    this.fields = [];
    const several = groups.length > 1;
    this.body.replaceChildren(...groups.flatMap(({ root, fields }, i) => {
      const made = fields.map(field => new Field(field, this.change));
      this.fields.push(...made);
      const rare = made.filter(field => field.spec.rare);
      const shown = [
        ...made.filter(field => !field.spec.rare).map(field => field.element),
        ...(rare.length ? [h("details", { class: "more" }, h("summary", {}, "More"), rare.map(field => field.element))] : []),
      ];
      return several ? [h("fieldset", {}, h("legend", {}, `${this.spec.title ?? this.spec.key} ${i + 1}`), shown)] : shown;
    }));
    if (inside) this.fields.find(field => field.element.dataset.path === focused)?.input.focus();
  }

  /** Errors at their keys; one of a key that has no field stands at the head of its section. */
  mark(errors) {
    const left = new Set(errors.filter(error => this.spec.key && error.path[0] === this.spec.key));
    for (const field of this.fields) {
      const mine = errors.filter(error => error.path.length >= field.path.length && field.path.every((key, i) => error.path[i] === key));
      mine.forEach(error => left.delete(error));
      field.mark(mine);
      if (mine.length) {
        this.element.open = true;
        const more = field.element.closest("details.more");
        if (more) more.open = true;
      }
    }
    this.trouble.hidden = !left.size;
    this.trouble.replaceChildren(...[...left].flatMap(error => words(said(error))));
    if (left.size) this.element.open = true;
  }
}

export const said = error => [error.message, error.fix].filter(Boolean).join(" ");

class Field {
  constructor(spec, change) {
    Object.assign(this, { spec, path: spec.path, change });
    const id = `field-${(serial += 1)}`;
    const help = [spec.help, spec.default !== undefined && spec.default !== null ? `Unless given: ${written(spec.default)}.` : ""].filter(Boolean).join(" ");
    this.help = h("span", { class: "help", id: `${id}-help` }, words(help));
    this.error = h("span", { class: "trouble", id: `${id}-error`, hidden: true });
    this.input = this.control(id);
    this.input.setAttribute("aria-describedby", `${id}-help ${id}-error`);
    const label = h("label", { for: id }, spec.title ?? String(spec.path.at(-1)), spec.unit && spec.unit !== this.spec.title ? h("span", { class: "unit" }, ` ${spec.unit}`) : null);
    this.element = h("div", { class: `field ${spec.kind}`, "data-path": JSON.stringify(spec.path) }, label, this.input, this.list ?? null, this.help, this.error);
    this.input.addEventListener("change", () => this.send());
    if (this.input.tagName === "INPUT") this.input.addEventListener("keydown", event => { if (event.key === "Enter") this.send(); });
    this.inFile = undefined;
  }

  control(id) {
    const { kind, choices, required } = this.spec;
    const options = kind === "boolean" ? [true, false] : (choices ?? []).map(choice => (typeof choice === "object" && choice !== null ? choice.value : choice));
    if (kind === "choice" || kind === "boolean") {
      this.options = new Map(options.map(option => [String(option), option]));
      const names = kind === "boolean" ? { true: "yes", false: "no" } : {};
      return h("select", { id },
        required ? null : h("option", { value: "" }, this.spec.default === null || this.spec.default === undefined ? "not given" : `not given: ${this.spec.default}`),
        [...this.options.keys()].map(name => h("option", { value: name }, names[name] ?? name)));
    }
    this.options = new Map(options.map(option => [String(option), option]));
    const attributes = { id, type: "text", spellcheck: "false", inputmode: kind === "number" ? "decimal" : null };
    if (!this.options.size) return h("input", attributes);
    this.list = h("datalist", { id: `${id}-choices` }, [...this.options.keys()].map(name => h("option", { value: name })));
    return h("input", { ...attributes, list: `${id}-choices` });
  }

  /** What is being typed, or was refused, stays as long as the file says the same. */
  show(value) {
    const shown = this.notation(value);
    const same = shown === this.inFile;
    if (same && (document.activeElement === this.input || this.input.hasAttribute("aria-invalid"))) return;
    this.inFile = shown;
    if (this.input.tagName === "SELECT" && shown !== "" && !this.options.has(shown)) {
      this.options.set(shown, value);
      this.input.append(h("option", { value: shown }, shown));
    }
    if (this.input.value !== shown) this.input.value = shown;
  }

  /** As the field shows a value: plain words and numbers, everything else as in the file. */
  notation(value) {
    if (value === undefined || value === null) return "";
    return typeof value === "object" ? written(value) : String(value);
  }

  send() {
    const now = this.input.value;
    if (now === this.inFile) return;
    this.change({ path: this.path, ...this.meant(now) });
  }

  /** A value that stands for itself, or the file's own notation where it can only be that. */
  meant(now) {
    if (now.trim() === "") return { value: null };
    if (this.options.has(now)) return { value: this.options.get(now) };
    if (this.spec.kind === "number") return { value: typed(now) };
    if (this.spec.kind === "text") return { value: now };
    if (/^\s*[[{"']/.test(now)) return { toml: now.trim() };
    return { value: typed(now) };
  }

  mark(errors) {
    if (errors.length) this.input.setAttribute("aria-invalid", "true");
    else this.input.removeAttribute("aria-invalid");
    this.error.hidden = !errors.length;
    this.error.replaceChildren(...errors.flatMap(error => words(said(error))));
  }
}
