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
    if (typeof value !== "number" || (name === "cell" && value <= 0)) return input.setAttribute("aria-invalid", "true");
    input.removeAttribute("aria-invalid");
    if (value !== this.region[name]) this.change({ path: [...this.region.path, name], value });
  }

  /** A rectangle was drawn on the plot. */
  drawn({ x0, x1, y0, y1 }) {
    const ends = { south: Math.min(y0, y1), west: Math.min(x0, x1), north: Math.max(y0, y1), east: Math.max(x0, x1) };
    this.change(...Object.entries(ends).map(([name, value]) => ({ path: [...this.region.path, name], value: Number(short(value, 6)) })));
  }
}
