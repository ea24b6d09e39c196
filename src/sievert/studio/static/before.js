// Before anything is drawn: dark or light, and how the drawing library may style what it draws.
"use strict";
(() => {
  // What was chosen here, else what the machine prefers.
  const kept = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  const dark = kept === null ? matchMedia("(prefers-color-scheme: dark)").matches : kept === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";

  // Plotly writes a few style attributes as text, which the page's policy forbids; set as properties they are fine.
  const { setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function styled(name, value) {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
})();
