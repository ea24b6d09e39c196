// The secret graph, drawn, and its edges edited: choose a value, then another, and the edge between them comes or goes.
import { h, svg } from "./dom.js";

// The drawing's own units, pixels where it has room; on a narrow page fewer, so that its letters stay as large.
const SIZES = { wide: [640, 420], narrow: [380, 380] };
const NARROW = 480;
const MARGIN = 40;
// Pixels of a letter, nearly.
const LETTER = 8;

/** A value as its node shows it, in so many letters at most. */
const named = (node, most) => (String(node.name).length > most ? `${String(node.name).slice(0, most - 1)}…` : String(node.name));

export class GraphEditor {
  constructor(change) {
    this.change = change;
    this.chosen = null;
    this.drawing = svg("svg", { class: "graph", role: "group", "aria-label": "Values that must not be told apart" });
    this.hint = h("p", { class: "soft" });
    this.element = h("figure", { "data-part": "secrets" }, this.drawing, h("figcaption", {}, this.hint));
    new ResizeObserver(() => { if (this.graph && this.drawing.isConnected && this.fits() !== this.size) this.draw(); }).observe(this.element);
  }

  show(graph, hash) {
    this.graph = graph;
    this.drawing.dataset.hash = hash;
    this.chosen = null;
    this.draw();
  }

  /** The size that suits the room there is. */
  fits() {
    const { clientWidth } = this.element;
    return clientWidth > 0 && clientWidth < NARROW ? SIZES.narrow : SIZES.wide;
  }

  /** Letters that a node has room for. */
  get most() {
    return this.size === SIZES.narrow ? 12 : 22;
  }

  draw(focus = null) {
    this.size = this.fits();
    this.drawing.setAttribute("viewBox", `0 0 ${this.size.join(" ")}`);
    const { nodes, edges, editable } = this.graph;
    const places = this.places(nodes);
    const lines = edges.map(([a, b]) => svg("line", { x1: places[a][0], y1: places[a][1], x2: places[b][0], y2: places[b][1], class: "edge" }));
    const marks = nodes.map((node, i) => this.node(node, i, places[i], editable));
    this.drawing.replaceChildren(...lines, ...marks);
    this.hint.textContent = this.words(editable);
    if (focus !== null) marks[focus]?.focus();
  }

  words(editable) {
    if (!editable) return "Joined values must not be told apart.";
    if (this.chosen === null) return "Joined values must not be told apart. Choose a value to join it to another, or to part them.";
    return `${this.graph.nodes[this.chosen].name} is chosen: choose another value to join or part them, or the same again to leave it.`;
  }

  node(node, i, [x, y], editable) {
    const joined = this.graph.edges.filter(edge => edge.includes(i)).map(([a, b]) => this.graph.nodes[a === i ? b : a].name);
    const attributes = editable ? {
      role: "button", tabindex: "0", "aria-pressed": String(this.chosen === i),
      "aria-label": `${node.name}, joined with ${joined.join(", ") || "nothing"}`,
      onclick: () => this.choose(i),
      onkeydown: event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.choose(i); } },
    } : {};
    const [right, below] = [x / this.size[0] - 0.5, y / this.size[1] - 0.5];
    const beside = Math.abs(right) > 0.12;
    const anchor = beside ? (right > 0 ? "start" : "end") : "middle";
    return svg("g", { class: this.chosen === i ? "node chosen" : "node", ...attributes },
      svg("circle", { cx: x, cy: y, r: 16, class: "target" }), svg("circle", { cx: x, cy: y, r: 9 }),
      svg("text", { x: beside ? x + Math.sign(right) * 18 : x, y: y + (beside ? 5 : below < 0 ? -18 : 30), "text-anchor": anchor }, named(node, this.most)));
  }

  choose(i) {
    if (this.chosen === null) this.chosen = i;
    else if (this.chosen === i) this.chosen = null;
    else return this.toggle(this.chosen, i);
    this.draw(i);
  }

  toggle(a, b) {
    const same = ([x, y]) => (x === a && y === b) || (x === b && y === a);
    const { nodes, edges, path } = this.graph;
    const changed = edges.some(same) ? edges.filter(edge => !same(edge)) : [...edges, [Math.min(a, b), Math.max(a, b)]];
    this.graph = { ...this.graph, edges: changed };
    this.chosen = null;
    this.draw(b);
    this.change({ path, value: { edges: changed.map(([x, y]) => [nodes[x].name, nodes[y].name]) } });
  }

  /** The server's places, fitted to the drawing. */
  places(nodes) {
    const spread = axis => {
      const all = nodes.map(node => node[axis]);
      const [low, high] = [Math.min(...all), Math.max(...all)];
      return value => (high > low ? (value - low) / (high - low) : 0.5);
    };
    const [x, y] = [spread("x"), spread("y")];
    const [width, height] = this.size;
    const side = Math.min(MARGIN + LETTER * Math.max(...nodes.map(node => named(node, this.most).length)), 0.4 * width);
    return nodes.map(node => [side + x(node.x) * (width - 2 * side), height - MARGIN - y(node.y) * (height - 2 * MARGIN)]);
  }
}
