// Pictures: drawn in place, in the colours of the page, each carrying the state that it shows.
import { byId } from "./dom.js";

// The drawing library is large: the page is there before it.
const library = new Promise((done, fail) => {
  if (window.Plotly) return done();
  byId("library").addEventListener("load", done, { once: true });
  byId("library").addEventListener("error", () => fail(new Error("The drawing library could not be loaded: open the page again.")), { once: true });
});

const CONFIG = { displayModeBar: false, responsive: false, doubleClick: false, scrollZoom: false };

// The colours of the reports (report/plots/_style.py) where the page is dark: as far from it as they were from white.
const DARK = new Map(Object.entries({
  "#b4bac4": "#7d8798", "#1f5fa8": "#6ea8ee", "#b3361f": "#f0836c", "#5b6675": "#aab4c3", "#c3c9d2": "#4d5869",
  "#222222": "#e6eaf0", "#009e73": "#35c496", "#882e72": "#cf92c0", "#1c2430": "#e6eaf0", "#55606f": "#a8b2c0",
  "#f3f6fa": "#1d2530", "white": "#161b22", "#ffffff": "#161b22", "#fff": "#161b22", "black": "#e6eaf0",
}));

const isDark = () => document.documentElement.dataset.theme === "dark";
const token = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function recoloured(value) {
  if (typeof value === "string") return DARK.get(value.toLowerCase()) ?? value;
  if (Array.isArray(value)) return value.map(recoloured);
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, recoloured(item)]));
  }
  return value;
}

// Narrower than this (pixels), a drawing has smaller letters.
const NARROW = 480;
// Milliseconds without a change after which the room for labels is measured anew.
const CALM = 250;

/** The same figure in the page's ink on the page's ground; in a hurry with the room for labels that it has. */
function laidOut(figure, hash, { height, layout: more, narrow, room }) {
  const { template = {}, ...layout } = isDark() ? recoloured(figure.layout ?? {}) : figure.layout ?? {};
  const letters = narrow ? { tickfont: { size: 11 }, title: { font: { size: 12 } } } : {};
  const line = token("--line");
  const axis = { ...letters, gridcolor: line, zerolinecolor: line, linecolor: line, tickcolor: line };
  const own = template.layout ?? {};
  const found = {
    ...layout,
    ...more,
    meta: { state: hash },
    height,
    width: undefined,
    autosize: true,
    template: {
      ...template,
      layout: {
        ...own,
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: token("--ink") },
        xaxis: { ...own.xaxis, ...axis }, yaxis: { ...own.yaxis, ...axis },
        hoverlabel: { bgcolor: token("--ground"), bordercolor: line, font: { color: token("--ink") } },
      },
    },
  };
  if (!room) return found;
  const still = { automargin: false, ticklabeloverflow: "allow" };
  return { ...found, xaxis: { ...found.xaxis, ...still }, yaxis: { ...found.yaxis, ...still }, margin: { ...room, pad: 0, autoexpand: false } };
}

/** What decides how much room labels take: drawings that agree in it are drawn in a hurry. */
function frame(place, { data, layout = {} }, { height }) {
  const named = trace => [trace.type, trace.name, trace.orientation, typeof trace.y?.[0] === "string" ? trace.y : null];
  return JSON.stringify([
    place.clientWidth, height, document.documentElement.dataset.theme, data.map(named),
    layout.xaxis?.title, layout.yaxis?.title, layout.legend, layout.showlegend, layout.yaxis?.ticktext,
  ]);
}

/** Draw a figure, or change what is drawn into it. The element tells the state once its drawing is done. */
export async function draw(place, figure, hash, { height = 420, layout = {} } = {}) {
  observer.observe(place);
  await library;
  const options = { height, layout };
  const shape = frame(place, figure, options);
  const hurried = place.room && place.frame === shape;
  place.figure = { figure, hash, options };
  await react(place, hurried ? place.room : null);
  if (hurried) place.dataset.hurried = "";
  else place.frame = shape;
}

let calming = null;

/** Something is on its way (then drawings stay as they are) or nothing is: then, soon, labels get the room they need. */
export function moving(value) {
  clearTimeout(calming);
  if (value) return;
  calming = setTimeout(() => {
    for (const place of document.querySelectorAll("[data-hurried]")) react(place, null);
  }, CALM);
}

async function react(place, room) {
  const { figure, hash, options } = place.figure;
  const narrow = place.clientWidth < NARROW;
  const data = isDark() ? recoloured(figure.data) : figure.data;
  await Plotly.react(place, data, laidOut(figure, hash, { ...options, narrow, room }), CONFIG);
  if (!place.listens) {
    place.listens = true;
    place.on("plotly_afterplot", () => stamp(place));
  }
  stamp(place);
  if (room) return;
  const { l, r, t, b } = place._fullLayout._size;
  place.room = { l, r, t, b };
  delete place.dataset.hurried;
}

function stamp(place) {
  const state = place.layout?.meta?.state;
  if (state) place.dataset.hash = state;
}

/** Take a drawing away. */
export function erase(place) {
  if (place.figure) Plotly.purge(place);
  place.classList.remove("js-plotly-plot");
  place.replaceChildren();
  place.listens = false;
  for (const name of ["figure", "room", "frame"]) delete place[name];
  for (const name of ["hash", "hurried"]) delete place.dataset[name];
}

/** Every drawing again, after the page became dark or light. */
export function redraw() {
  return Promise.all([...document.querySelectorAll(".js-plotly-plot")].filter(place => place.figure)
    .map(place => draw(place, place.figure.figure, place.figure.hash, place.figure.options)));
}

const widths = new WeakMap();
const observer = new ResizeObserver(entries => {
  for (const { target, contentRect } of entries) {
    const before = widths.get(target);
    widths.set(target, contentRect.width);
    if (before !== undefined && contentRect.width > 0 && Math.abs(before - contentRect.width) >= 1 && target.figure) {
      Plotly.Plots.resize(target);
    }
  }
});
