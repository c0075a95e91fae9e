// @ts-check
/** A conversation with branches: each message knows its alternatives. Pure. */

/**
 * @typedef {{
 *   role: "system" | "user" | "assistant" | "tool", content: string, up: Message | null,
 *   next: Message[], chosen: number, calls: Call[], callId: string, isRunning: boolean, error: string,
 *   prompt: number, cached: number, output: number, drafted: number, ttft: number | null, rate: number | null, why: any,
 * }} Message
 * @typedef {{id: string, name: string, arguments: string}} Call
 */

/** @param {Message["role"]} role @param {string} content @param {Message | null} up @returns {Message} */
export function message(role, content, up) {
  /** @type {Message} */
  const made = {
    role, content, up, next: [], chosen: 0, calls: [], callId: "", isRunning: false, error: "",
    prompt: 0, cached: 0, output: 0, drafted: 0, ttft: null, rate: null, why: null,
  };
  if (up) up.chosen = up.next.push(made) - 1;
  return made;
}

/** The messages from the first to the last chosen one, without the start. @param {Message} start */
export function path(start) {
  /** @type {Message[]} */
  const found = [];
  for (let each = start.next[start.chosen]; each; each = each.next[each.chosen]) found.push(each);
  return found;
}

/** The messages up to and including one. @param {Message} last */
export function before(last) {
  /** @type {Message[]} */
  const found = [];
  for (let each = /** @type {Message | null} */ (last); each && each.up; each = each.up) found.unshift(each);
  return found;
}

/**
 * Messages as the API takes them.
 * @param {string} system
 * @param {Message[]} messages
 */
export function asApi(system, messages) {
  /** @type {object[]} */
  const found = system.trim() ? [{ role: "system", content: system }] : [];
  for (const each of messages) {
    if (each.role === "tool") found.push({ role: "tool", tool_call_id: each.callId, content: each.content });
    else if (each.calls.length) {
      const calls = each.calls.map((call) => ({ id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } }));
      found.push({ role: "assistant", content: each.content || null, tool_calls: calls });
    } else found.push({ role: each.role, content: each.content });
  }
  return found;
}

/** @param {string} url @param {object} body @param {boolean} hasKey */
export function asCurl(url, body, hasKey) {
  const quoted = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  const key = hasKey ? " \\\n  -H \"Authorization: Bearer $YAIE_API_KEY\"" : "";
  return `curl ${url}v1/chat/completions \\\n  -H 'Content-Type: application/json'${key} \\\n  -d '${quoted}'`;
}

/** @param {string} url @param {Record<string, any>} body @param {boolean} hasKey */
export function asPython(url, body, hasKey) {
  const { messages, model, ...rest } = body;
  const known = ["temperature", "top_p", "seed", "max_tokens", "stop", "tools", "response_format", "n"];
  const plain = Object.entries(rest).filter(([name]) => known.includes(name));
  const parts = [["model", model], ["messages", messages], ...plain].map(([name, value]) => `    ${name}=${literal(value)},`);
  const key = hasKey ? 'os.environ["YAIE_API_KEY"]' : '"none"';
  return `${hasKey ? "import os\n\n" : ""}from openai import OpenAI\n\nclient = OpenAI(base_url=${literal(`${url}v1`)}, api_key=${key})\nanswer = client.chat.completions.create(\n${parts.join("\n")}\n)\nprint(answer.choices[0].message.content)\n`;
}

/** A JSON value as Python writes it. @param {any} value @returns {string} */
function literal(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${literal(each)}`).join(", ")}}`;
  return JSON.stringify(value);
}
