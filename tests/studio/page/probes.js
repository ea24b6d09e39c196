// What the tests ask of the page, in the page: read before anything of its own, by the browser and not by the page.
"use strict";
window.probes = (() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const shown = "[role=tabpanel]:not([hidden])";
  const fields = () => all("#form .field").map(field => [field.dataset.path, field.querySelector("input, select")]);
  const changed = input => input.dispatchEvent(new Event("change", { bubbles: true }));
  const real = { fetch: window.fetch.bind(window) };
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

    /** The bars of the first picture of a part. */
    bars: part => [...document.querySelector(`${shown} figure[data-part=${part}] .drawing`).data[0].x],

    /** Drawings and words that leave the figure they belong to, by more than a pixel. */
    outside: () => all(`${shown} figure:not([hidden]) svg`).flatMap(svg => {
      const figure = svg.closest("figure");
      const frame = figure.getBoundingClientRect();
      const leaves = box => box.width > 0
        && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
      return [svg, ...all("text", svg)].filter(item => leaves(item.getBoundingClientRect()))
        .map(item => `${figure.dataset.part}: ${item.textContent.slice(0, 40)}`);
    }),

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

    /** From now on the pictures of one part are not drawn anew. */
    sabotage: part => {
      real.react ??= Plotly.react;
      Plotly.react = (place, ...rest) =>
        (place.closest("figure").dataset.part === part ? Promise.resolve(place) : real.react(place, ...rest));
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
