// What the tests ask of the page, in the page: read before anything of its own, by the browser and not by the page.
"use strict";
window.probes = (() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const shown = "[role=tabpanel]:not([hidden])";
  const fields = () => all("#form .field").map(field => [field.dataset.path, field.querySelector("input, select")]);
  const changed = input => input.dispatchEvent(new Event("change", { bubbles: true }));
  const real = { fetch: window.fetch.bind(window) };
  const pictures = part => all(`${shown} figure[data-part=${part}] .js-plotly-plot`);
  const moved = input => input.dispatchEvent(new Event("input", { bubbles: true }));

  return {
    /** The states that headline and pictures say they show; drawings by what was drawn into them. */
    hashes: () => [
      document.getElementById("headline").dataset.hash,
      ...all(".js-plotly-plot").map(place => place.layout.meta.state),
      ...all(`${shown} [data-hash]`).map(place => place.dataset.hash),
    ],

    /** All words of the pictures of a part that can be seen. */
    words: part => all(`${shown} figure[data-part=${part}] svg text`).map(text => text.textContent).join(" | "),

    /** Every curve and bar of the pictures of a part that can be seen, as the drawing library drew them. */
    traces: part => pictures(part).map(place => place._fullData.map(trace => ({
      name: trace.name, type: trace.type, x: [...trace.x ?? []], y: [...trace.y ?? []], z: trace.z ? [...trace.z].map(row => [...row]) : null,
    }))),

    /** Bars and curves whose ends do not lie in the picture where their numbers say, by more than a pixel and a half; thin bars are drawn thicker. */
    misdrawn: () => all(`${shown} .js-plotly-plot`).flatMap(place => place.calcdata.flatMap(points => {
      const { trace } = points[0];
      const { xaxis, yaxis } = place._fullLayout;
      const group = place.querySelector(`.${trace.type === "bar" ? "bars" : "trace"}${trace.uid}`)
        ?? all(`.${trace.type === "bar" ? "barlayer" : "scatterlayer"} > .trace`, place)[place._fullData.filter(item => item.type === trace.type).indexOf(trace)];
      if (!group || trace.visible !== true || !["bar", "scatter"].includes(trace.type)) return [];
      const far = (a, b) => Math.abs(a - b) > 1.5;
      if (trace.type === "bar") {
        const drawn = all(".point path", group).map(path => path.getBBox()).filter(box => box.width > 0 && box.height > 0);
        const flat = trace.orientation === "h";
        const axis = flat ? xaxis : yaxis;
        const said = points.map(point => Math.abs(axis.c2p(point.s1) - axis.c2p(point.s0))).filter(size => size > 3);
        const seen = drawn.map(box => (flat ? box.width : box.height)).filter(size => size > 3);
        return said.length === seen.length && said.every((size, i) => !far(size, seen[i])) ? [] : [`${trace.name}: ${said} ${seen}`];
      }
      const path = group.querySelector("path.js-line");
      if (!path || trace.line?.shape !== "linear") return [];
      const ends = path.getAttribute("d").match(/-?[\d.]+(?:e-?\d+)?/g).map(Number);
      const first = points.find(point => Number.isFinite(point.x) && Number.isFinite(point.y));
      const last = points.findLast(point => Number.isFinite(point.x) && Number.isFinite(point.y));
      const wrong = far(ends[0], xaxis.c2p(first.x)) || far(ends[1], yaxis.c2p(first.y))
        || far(ends.at(-2), xaxis.c2p(last.x)) || far(ends.at(-1), yaxis.c2p(last.y));
      return wrong ? [`${trace.name}: ${ends.slice(0, 2)} ${ends.slice(-2)}`] : [];
    })),

    /** Drawings and words that leave the figure they belong to, by more than a pixel. */
    outside: () => all(`${shown} figure:not([hidden]) svg`).flatMap(svg => {
      const figure = svg.closest("figure");
      const frame = figure.getBoundingClientRect();
      const leaves = box => box.width > 0
        && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
      return [svg, ...all("text", svg)].filter(item => leaves(item.getBoundingClientRect()))
        .map(item => `${figure.dataset.part}: ${item.textContent.slice(0, 40)}`);
    }),

    /** The tables behind the pictures that can be seen: opened, how many hold rows. */
    tables: () => all(`${shown} details.behind:not([hidden])`).filter(details => {
      details.open = true;
      details.ontoggle();
      return details.querySelector("tbody tr");
    }).length,

    /** What the rules of axe-core find wrong in a part of the page. */
    axe: async ([part, rules]) => (await window.axe.run(part, { runOnly: rules, resultTypes: ["violations"] })).violations
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`)),

    /** Pixels by which the page is wider than its window. */
    wider: () => document.documentElement.scrollWidth - window.innerWidth,

    /** Every field that holds something, touched and left as it is. */
    touch: () => fields().filter(([, input]) => input.value !== "").map(([path, input]) => {
      moved(input);
      changed(input);
      return [JSON.parse(path), input.value];
    }),

    /** One field given another value, as by somebody who types it. */
    give: ([path, value]) => {
      const input = new Map(fields()).get(JSON.stringify(path));
      input.value = value;
      changed(input);
    },

    /** Both sliders moved forty times, faster than anybody can answer. */
    hurry: async () => {
      const [eps, releases] = ["eps-range", "releases-range"].map(id => document.getElementById(id));
      for (let i = 0; i < 40; i += 1) {
        const slider = i % 4 === 3 ? releases : eps;
        slider.value = String(60 + 3 * i);
        moved(slider);
        await new Promise(done => { setTimeout(done, i % 5); });
      }
    },

    /** Milliseconds from a move of the ε slider to the last picture of its state, so many times. */
    moves: async count => {
      const slider = document.getElementById("eps-range");
      const found = [];
      for (let i = 0; i < count; i += 1) {
        const from = performance.now();
        slider.value = String(80 + (i * 37) % 100);
        moved(slider);
        while (document.body.dataset.idle !== "true") await new Promise(done => { setTimeout(done, 1); });
        found.push(performance.now() - from);
        await new Promise(done => { setTimeout(done, 60); });
      }
      return found;
    },

    /** From now on the pictures of one part are not drawn anew, and say that they were. */
    sabotage: part => {
      real.react ??= Plotly.react;
      Plotly.react = (place, data, layout, ...rest) => {
        if (place.closest("figure").dataset.part !== part || !place.layout) return real.react(place, data, layout, ...rest);
        place.layout.meta = layout.meta;
        return Promise.resolve(place);
      };
    },

    /** From now on long work never ends. */
    stuck: () => {
      const running = JSON.stringify({ state: "running", progress: { done: 3, total: 10, words: "3 of 10" } });
      window.fetch = (address, options) => (/\/api\/jobs\/./.test(address) && options?.method !== "DELETE"
        ? Promise.resolve(new Response(running)) : real.fetch(address, options));
    },

    /** What was changed above as it was, the page light and wide, nothing kept. */
    reset: () => {
      window.fetch = real.fetch;
      if (real.react) Plotly.react = real.react;
      if (document.documentElement.dataset.theme === "dark") document.getElementById("theme").click();
      if (document.body.classList.contains("file-open")) document.getElementById("show-file").click();
      for (const details of all("details.behind")) details.open = false;
      localStorage.clear();
      document.activeElement?.blur();
    },

    /** What is chosen in the text. */
    chosen: () => (text => text.value.slice(text.selectionStart, text.selectionEnd))(document.getElementById("text")),
  };
})();
