// Values of a file in its own notation, for fields that hold lists and tables.

const bare = /^[A-Za-z0-9_-]+$/;

export function written(value) {
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const items = Object.entries(value).map(([name, item]) => `${bare.test(name) ? name : JSON.stringify(name)} = ${written(item)}`);
    return items.length ? `{ ${items.join(", ")} }` : "{}";
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** A number as somebody types it, or the words themselves: `alpha = "1/2"` is text, and so is what no number can be. */
export function typed(words) {
  const trimmed = words.trim();
  const number = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed) ? Number(trimmed) : NaN;
  return Number.isFinite(number) ? number : trimmed;
}

export const at = (document, path) => path.reduce((part, key) => (part === null || part === undefined ? undefined : part[key]), document);
