// The region of places as a rectangle: drawn with the mouse on the plot, or typed as four ends and a cell.
import { h, short } from "./dom.js";
import { typed } from "./toml.js";

const ENDS = [["south", "South, °"], ["west", "West, °"], ["north", "North, °"], ["east", "East, °"], ["cell", "Cell, m"]];

export class RegionEditor {
  constructor(change) {
    this.change = change;
    this.inputs = new Map(ENDS.map(([name]) => [name, h("input", { type: "text", inputmode: "decimal", size: 9, id: `region-${name}` })]));
    this.element = h("fieldset", { class: "region" }, h("legend", {}, "The rectangle (drag on the picture, or type)"),
      ENDS.map(([name, title]) => h("span", { class: "field-inline" }, h("label", { for: `region-${name}` }, title), this.inputs.get(name))));
    for (const [name, input] of this.inputs) input.addEventListener("change", () => this.typed(name, input));
  }

  show(region) {
    this.region = region;
    for (const [name, input] of this.inputs) if (document.activeElement !== input) input.value = String(region[name]);
  }

  typed(name, input) {
    const value = typed(input.value);
    if (typeof value !== "number") return input.setAttribute("aria-invalid", "true");
    input.removeAttribute("aria-invalid");
    if (value !== this.region[name]) this.change({ path: [...this.region.path, name], value });
  }

  /** A rectangle was drawn on the plot. */
  drawn({ x, y }) {
    const ends = { west: Math.min(...x), east: Math.max(...x), south: Math.min(...y), north: Math.max(...y) };
    for (const [name, value] of Object.entries(ends)) this.change({ path: [...this.region.path, name], value: Number(short(value, 6)) });
  }
}
