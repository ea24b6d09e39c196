// Dark or light before the first picture: what was chosen here, else what the machine prefers.
"use strict";
(() => {
  const kept = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  const dark = kept === null ? matchMedia("(prefers-color-scheme: dark)").matches : kept === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
