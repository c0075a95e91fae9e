// @ts-check
/** The feed of the server, by `fetch`, which can send a key; it reconnects by itself. */

const KEY = "yaie-key";
const ADMIN = "yaie-admin";
const LONGEST_S = 15;

/** Headers with the keys of this tab. @returns {Record<string, string>} */
export function keyHeaders() {
  const key = sessionStorage.getItem(KEY);
  const admin = sessionStorage.getItem(ADMIN);
  /** @type {Record<string, string>} */
  const found = {};
  if (key || admin) found["Authorization"] = `Bearer ${key || admin}`;
  if (key && admin) found["X-API-Key"] = admin;
  return found;
}

/** @returns {{key: string, admin: string}} */
export const keys = () => ({ key: sessionStorage.getItem(KEY) || "", admin: sessionStorage.getItem(ADMIN) || "" });

/** @param {string} key @param {string} admin */
export function keepKeys(key, admin) {
  sessionStorage.setItem(KEY, key);
  sessionStorage.setItem(ADMIN, admin);
}

/**
 * Send JSON; return the answer's. Throws an Error with the server's message.
 * @param {string} path relative to the server's root
 * @param {object} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function post(path, body, signal) {
  const answer = await send(path, body, signal);
  return answer.json();
}

/**
 * Send JSON; return the response. Throws an Error with the server's message.
 * @param {string} path
 * @param {object} body
 * @param {AbortSignal} [signal]
 */
export async function send(path, body, signal) {
  const headers = { "Content-Type": "application/json", ...keyHeaders() };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (!answer.ok) throw new Error(await messageOf(answer));
  return answer;
}

/** @param {Response} answer */
async function messageOf(answer) {
  try {
    const body = await answer.json();
    return body.error?.message || `the server answered ${answer.status}`;
  } catch {
    return `the server answered ${answer.status}`;
  }
}

/**
 * Yield the server-sent events of a response.
 * @param {Response} answer
 * @returns {AsyncGenerator<{name: string, data: string}>}
 */
export async function* eventsOf(answer) {
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const blocks = rest.split("\n\n");
      rest = blocks.pop() || "";
      for (const block of blocks) {
        let name = "message";
        let data = "";
        for (const line of block.split("\n")) {
          if (line.startsWith("event: ")) name = line.slice(7);
          else if (line.startsWith("data: ")) data += line.slice(6);
        }
        if (data) yield { name, data };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Follow the feed of a model until `stop` is called.
 * @param {string} model its name; empty: the first
 * @param {{
 *   event: (name: string, data: any) => void,
 *   lost: (message: string, retryS: number) => void,
 *   refused: (message: string) => void,
 * }} handler `refused`: a key is needed; nothing is tried again
 * @returns {() => void} stop
 */
export function follow(model, handler) {
  const abort = new AbortController();
  let waitS = 1;
  const run = async () => {
    while (!abort.signal.aborted) {
      let message = "the server closed the connection";
      try {
        const path = "ui/events" + (model ? `?model=${encodeURIComponent(model)}` : "");
        const answer = await fetch(path, { headers: keyHeaders(), signal: abort.signal });
        if (answer.status === 401) {
          handler.refused(await messageOf(answer));
          return;
        }
        if (!answer.ok) throw new Error(await messageOf(answer));
        for await (const event of eventsOf(answer)) {
          waitS = 1;
          handler.event(event.name, JSON.parse(event.data));
        }
      } catch (error) {
        if (abort.signal.aborted) return;
        message = error instanceof TypeError ? "the server cannot be reached" : String(/** @type {Error} */ (error).message);
      }
      handler.lost(message, waitS);
      await new Promise((resolve) => setTimeout(resolve, 1000 * waitS));
      waitS = Math.min(LONGEST_S, 2 * waitS);
    }
  };
  run();
  return () => abort.abort();
}
