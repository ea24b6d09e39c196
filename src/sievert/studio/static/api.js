// The server, a pure function of the text: every call is JSON to this machine and back.

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function sent(address, options) {
  let response;
  try {
    response = await fetch(address, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The studio does not answer: is `sievert studio` still running? The text below is all there is of your file; copy it before you close this page.");
  }
  if (response.ok) return response;
  let message = "";
  try {
    message = (await response.json()).message;
  } catch {
    message = `${response.status} ${response.statusText}`;
  }
  if (response.status === 403) message = "This page was opened by another start of the studio: open the address that `sievert studio` printed.";
  throw new Refusal(response.status, message);
}

const body = value => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(value),
});

export const get = async name => (await sent(`/api/${name}`, {})).json();
export const post = async (name, value, signal) => (await sent(`/api/${name}`, { ...body(value), signal })).json();
export const remove = async name => (await sent(`/api/${name}`, { method: "DELETE", headers: { "Content-Type": "application/json" } })).json();

/** What is answered line by line, each as soon as it is known. */
export async function* lines(name, value) {
  const reader = (await sent(`/api/${name}`, body(value))).body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = ""; ;) {
      const { done, value: more } = await reader.read();
      if (done) return;
      const whole = (rest + more).split("\n");
      rest = whole.pop();
      for (const line of whole) yield JSON.parse(line);
    }
  } finally {
    await reader.cancel();
  }
}

/** What the server makes of the text as a file to be saved. */
export async function download(name, value) {
  const response = await sent(`/api/${name}`, body(value));
  const named = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "");
  return { content: await response.blob(), name: named ? named[1] : "report.html" };
}
