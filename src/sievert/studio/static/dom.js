// Elements from words: the few functions that every part of the page is built with.

/** An element with attributes, listeners (on…) and children; nothing is ever read as HTML. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
}

export const byId = id => document.getElementById(id);

/** A sentence in which what stands between backticks is code, as in the reports. */
export function words(sentence) {
  return String(sentence ?? "").split(/`([^`]+)`/).map((part, i) => (i % 2 ? h("code", {}, part) : part));
}

/** A cell of a table: a dash where there is nothing, numbers short, words as they are. */
export function cell(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number" && !Number.isInteger(value)) return short(value, 6);
  return Array.isArray(value) ? value.map(cell).join(", ") : String(value);
}

/** A number in so many significant digits, without zeros at its end. */
export function short(value, digits) {
  return String(Number(value.toPrecision(digits)));
}

/** Say something once, to be seen and to be heard. */
export function say(sentence, bad = false) {
  const place = byId("said");
  place.replaceChildren(...words(sentence));
  place.classList.toggle("bad", bad);
}

let serial = 0;

/** A table with its header, as in the reports; what it is about stays in sight while a wide one is scrolled. */
export function grid({ columns, rows, caption, heading }, name = heading || "Table") {
  const id = caption ? `table-${(serial += 1)}` : null;
  return h("div", {}, caption ? h("p", { class: "soft about", id }, words(caption)) : null, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
    h("table", { "aria-describedby": id },
      columns.some(Boolean) ? h("thead", {}, h("tr", {}, columns.map(name => h("th", { scope: "col" }, cell(name))))) : null,
      h("tbody", {}, rows.map(row => h("tr", {}, row.map((value, i) =>
        i ? h("td", { "data-label": cell(columns[i]) }, cell(value)) : h("th", { scope: "row" }, cell(value)))))))));
}

/** Hand something over as a file of this name. */
export function keep(content, name) {
  const address = URL.createObjectURL(content);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
