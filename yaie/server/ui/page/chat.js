// @ts-check
/** The playground: a chat whose prompts show what was cached, with branches and variants. */
import { asApi, asCurl, asPython, before, message, path } from "./conversation.js";
import { $, count, duration, fill, h } from "./dom.js";
import { showUsage } from "./explain.js";
import { eventsOf, keys, post, send } from "./feed.js";
import { markdown } from "./markdown.js";
import { showsText, state } from "./state.js";
import { promptStrip } from "./strip.js";

/** @typedef {import("./conversation.js").Message} Message */

const SLOW_S = 0.5;
const FORECAST_MS = 250;
const LONG = "YAIE keeps every prompt that it has computed in one radix tree. A node is a run of tokens, and its children are the prompts that continue it. ";
const STARTERS = [
  ["The same question twice", "cold, then one token", () => twice("What is a radix tree?", "What is a radix tree?")],
  ["A long document, two questions", "the document is read once", () => twice(`${LONG.repeat(12)}\n\nWhat is a node?`, `${LONG.repeat(12)}\n\nWhat are its children?`)],
  ["8 variants of one answer", "one prompt, eight branches", () => ask("Name a color.", 8)],
];
const start = message("user", "", null);
let system = "You are a helpful assistant. Be brief and exact.";
let isEditing = false;
/** @type {Message | null} the user's message that is edited */
let edited = null;
/** @type {AbortController | null} */
let running = null;
/** @type {AbortController | null} */
let forecast = null;
let timer = 0;
let predicted = "";
let drawnDown = false;
let numEnded = 0;
let listedModels = "";

const value = (/** @type {string} */ name) => $(`#c-${name}`).value.trim();

/** The body of a request, from the settings. Throws an Error for settings that are not JSON. @param {Message[]} messages */
function bodyOf(messages) {
  /** @type {Record<string, any>} */
  const body = { model: value("model") || state.hello?.model, messages: asApi(system, messages) };
  for (const name of ["temperature", "top_p", "seed", "max_tokens"]) {
    if (!value(name)) continue;
    body[name] = Number(value(name));
    if (Number.isNaN(body[name])) throw new Error(`${name.replace("_", "-")} must be a number`);
  }
  if (value("stop")) body.stop = [value("stop")];
  if (value("schema")) body.response_format = { type: "json_schema", json_schema: { name: "answer", schema: json("schema", "The schema") } };
  if (value("tools")) body.tools = json("tools", "The list of tools");
  return body;
}

/** @param {string} name @param {string} shown */
function json(name, shown) {
  try {
    return JSON.parse(value(name));
  } catch {
    throw new Error(`${shown} is not JSON`);
  }
}

/** Send the conversation up to a message of the user, for one or more answers. @param {Message} asked @param {number} [variants] */
async function answer(asked, variants = 1) {
  const messages = before(asked);
  /** @type {Record<string, any>} */
  let body;
  try {
    body = { ...bodyOf(messages), stream: true, stream_options: { include_usage: true }, explain_cache: true };
    $("#c-error").textContent = "";
  } catch (error) {
    $("#c-error").textContent = /** @type {Error} */ (error).message;
    if ($("#set").hidden) $("#setb").click();
    return;
  }
  if (variants > 1) {
    body.n = variants;
    if (body.temperature === undefined || body.temperature < 0.7) body.temperature = 1;
  }
  const answers = Array.from({ length: variants }, () => message("assistant", "", asked));
  asked.chosen = asked.next.indexOf(answers[0]);
  for (const each of answers) each.isRunning = true;
  running = new AbortController();
  redraw();
  const began = performance.now();
  try {
    const reply = await send("v1/chat/completions", body, running.signal);
    for await (const event of eventsOf(reply)) {
      if (event.data === "[DONE]") break;
      take(JSON.parse(event.data), answers, asked, (performance.now() - began) / 1000);
    }
  } catch (error) {
    const isStopped = running?.signal.aborted;
    for (const each of answers) if (each.isRunning) each.error = isStopped ? "Stopped." : /** @type {Error} */ (error).message;
  }
  const seconds = (performance.now() - began) / 1000;
  for (const each of answers) {
    each.isRunning = false;
    const rest = seconds - (each.ttft || 0);
    if (each.output > 1 && rest > 0) each.rate = (each.output - 1) / rest;
  }
  running = null;
  $("#log").dataset.answers = String(++numEnded);
  redraw();
}

/** @param {any} event @param {Message[]} answers @param {Message} asked @param {number} seconds */
function take(event, answers, asked, seconds) {
  if (event.error) throw new Error(event.error.message);
  if (event.id) state.own.add(event.id);
  for (const choice of event.choices || []) {
    const each = answers[choice.index];
    const delta = choice.delta || {};
    const text = (delta.content || "") + (delta.reasoning_content || "");
    if (each.ttft === null && (text || delta.tool_calls)) each.ttft = seconds;
    each.content += delta.content || "";
    for (const part of delta.tool_calls || []) {
      const call = (each.calls[part.index] ??= { id: "", name: "", arguments: "" });
      call.id ||= part.id || "";
      call.name += part.function?.name || "";
      call.arguments += part.function?.arguments || "";
    }
  }
  if (event.usage) {
    const { usage } = event;
    [asked.prompt, asked.cached] = [usage.prompt_tokens, usage.prompt_tokens_details?.cached_tokens || 0];
    asked.why = usage.cache_explanation || null;
    asked.ttft = answers[0].ttft;
    const drafted = usage.completion_tokens_details?.accepted_prediction_tokens || 0;
    for (const each of answers) {
      each.output = Math.round(usage.completion_tokens / answers.length);
      each.drafted = Math.round(drafted / answers.length);
    }
  }
  scheduleDraw();
}

let isScheduled = false;
function scheduleDraw() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    redraw();
  });
}

/** Ask a question after the last answer. @param {string} text @param {number} [variants] */
async function ask(text, variants = 1) {
  const messages = path(start);
  await answer(message("user", text, messages[messages.length - 1] || start), variants);
}

/** Ask two questions, each at the start. @param {string} first @param {string} second */
async function twice(first, second) {
  await answer(message("user", first, start));
  await answer(message("user", second, start));
}

/** Draw the conversation. */
function redraw() {
  const log = $("#log");
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  const messages = path(start);
  fill(log, drawSystem(), messages.length ? messages.flatMap(draw) : [
    h("p", { class: "none" }, "Under each question: how much of its prompt was cached. Under each answer: the time to the first token."),
    ...STARTERS.map(([name, note, run]) => h("button", { class: "try", click: run, disabled: state.isDown }, h("b", {}, /** @type {string} */ (name)), h("span", {}, /** @type {string} */ (note)))),
  ]);
  if (isAtEnd) log.scrollTop = log.scrollHeight;
  $("#send").textContent = running ? "Stop" : "Send";
  for (const name of ["#send", "#eight"]) $(name).disabled = state.isDown;
  $("#eight").disabled = state.isDown || Boolean(running);
  drawPrediction();
}

function drawSystem() {
  if (!isEditing) {
    const shown = state.isMasked ? "hidden" : system || "none";
    return h("div", { class: "sys" }, h("b", {}, "System"), h("span", {}, shown), h("button", { class: "lnk", id: "sysb", click: () => { isEditing = true; redraw(); $("#systext").focus(); } }, "Edit"));
  }
  const text = /** @type {HTMLTextAreaElement} */ (h("textarea", { class: "sysedit", id: "systext", "aria-label": "System prompt" }));
  text.value = system;
  const done = () => { system = text.value; isEditing = false; redraw(); foresee(); };
  return h("div", {}, text, h("div", { class: "fact" }, h("button", { click: done }, "Done")));
}

/** @param {Message} each @returns {HTMLElement[]} */
function draw(each) {
  if (each.role === "assistant") return [drawAnswer(each)];
  const isTool = each.role === "tool";
  const siblings = each.up?.next || [];
  const head = h("div", { class: "who" }, h("span", {}, isTool ? "Tool" : "You"), h("span", {}, branches(each, siblings), isTool ? null : h("button", { click: () => edit(each), disabled: Boolean(running) }, "Edit")));
  const text = state.isMasked ? h("p", { class: "mute" }, "hidden") : h("p", {}, shorten(each.content));
  const wasSlow = each.prompt - each.cached > 1 && each.why;
  const facts = each.prompt ? promptStrip(each.cached, each.prompt, wasSlow ? h("button", { click: () => showUsage(each.why, each.ttft) }, "Why so many?") : null) : [];
  return [h("div", { class: "msg" }, head, text, ...facts)];
}

/** @param {string} text */
const shorten = (text) => (text.length > 600 ? `${text.slice(0, 300)} … ${text.slice(-200)}` : text);

/** @param {Message} each */
function drawAnswer(each) {
  const siblings = each.up?.next || [];
  const head = h("div", { class: "who" }, h("span", {}, value("model") || state.hello?.model || ""), h("span", {}, branches(each, siblings)));
  const content = h("div", { class: each.isRunning ? "md wait" : "md" }, state.isMasked ? h("p", { class: "mute" }, "hidden") : markdown(each.content));
  const calls = each.calls.map((call) => h("div", { class: "call" }, `${call.name}(${call.arguments})`, each.isRunning || each.next.length ? null : resultField(each, call)));
  const facts = h("div", { class: "fact" },
    each.ttft === null ? null : [h("span", { class: each.ttft > SLOW_S ? "slow" : "good" }, duration(each.ttft)), h("span", {}, "to first token")],
    each.rate === null ? null : h("span", {}, h("b", {}, each.rate.toFixed(each.rate < 10 ? 1 : 0)), " tokens/s"),
    each.drafted ? h("span", {}, h("b", {}, count(each.drafted)), ` of ${count(each.output)} tokens drafted`) : null,
    each.isRunning || each.ttft === null ? null : h("button", { click: () => each.up && answer(each.up), disabled: Boolean(running) }, "Regenerate"));
  return h("div", { class: "msg" }, head, content, calls, each.error ? h("p", { class: "bad" }, each.error) : null, facts);
}

/** A field for the result of a tool's call. @param {Message} each @param {import("./conversation.js").Call} call */
function resultField(each, call) {
  const input = /** @type {HTMLInputElement} */ (h("input", { class: "find", "aria-label": `Result of ${call.name}`, placeholder: "Result" }));
  const give = () => {
    const made = message("tool", input.value, each);
    made.callId = call.id;
    answer(made);
  };
  return h("div", { class: "do" }, input, h("button", { class: "b", click: give }, "Give"));
}

/** @param {Message} each @param {Message[]} siblings */
function branches(each, siblings) {
  if (siblings.length < 2 || !each.up) return null;
  const { up } = each;
  const at = siblings.indexOf(each);
  /** @param {number} to @param {string} sign @param {string} label */
  const step = (to, sign, label) => h("button", { "aria-label": label, disabled: to < 0 || to >= siblings.length, click: () => { up.chosen = to; redraw(); } }, sign);
  return h("span", {}, step(at - 1, "‹", "Previous branch"), ` ${at + 1} of ${siblings.length} `, step(at + 1, "›", "Next branch"));
}

/** @param {Message} each */
function edit(each) {
  edited = each;
  $("#say").value = each.content;
  $("#say").focus();
  foresee();
}

/** Say what the next prompt will cost, a moment after the last key. */
function foresee() {
  clearTimeout(timer);
  forecast?.abort();
  const text = $("#say").value.trim();
  if (!text || state.isDown || running) {
    predicted = "";
    drawPrediction();
    return;
  }
  timer = setTimeout(async () => {
    forecast = new AbortController();
    const last = edited ? edited.up : path(start).pop();
    const messages = [...(last ? before(last) : []), { ...message("user", text, null) }];
    try {
      const { model, messages: api, tools } = bodyOf(messages);
      const found = await post("v1/cache/explain", tools ? { model, messages: api, tools } : { model, messages: api }, forecast.signal);
      const rest = found.prompt_tokens - found.cached_tokens;
      const seconds = state.now?.window.s_per_token;
      predicted = `${count(found.cached_tokens)} cached, ${count(rest)} to compute${seconds ? `: about ${duration(seconds * rest)}` : ""}`;
    } catch {
      predicted = "";
    }
    drawPrediction();
  }, FORECAST_MS);
}

function drawPrediction() {
  $("#pred").textContent = state.isDown ? "The engine is down: nothing can be sent." : predicted || (state.nodes.size ? "" : "Nothing is cached yet: the first prompt is computed whole.");
  const shown = [["temperature", "T"], ["top_p", "top-p"], ["seed", "seed"]].filter(([name]) => value(name)).map(([name, label]) => `${label} ${value(name)}`);
  $("#sampling").textContent = shown.join(" · ");
}

/** Draw what depends on the feed. */
export function drawChat() {
  const models = (state.hello?.models || []).join("\n");
  if (models !== listedModels) {
    listedModels = models;
    fill($("#c-model"), state.hello.models.map((/** @type {string} */ name) => h("option", { selected: name === state.hello.model }, name)));
  }
  if (drawnDown !== state.isDown) {
    drawnDown = state.isDown;
    redraw();
  } else drawPrediction();
}

/** @param {number} variants */
function submit(variants) {
  if (running) return running.abort();
  const text = $("#say").value.trim();
  if (!text) return $("#say").focus();
  const from = edited;
  edited = null;
  $("#say").value = "";
  foresee(); // drops the forecast of this text, also one that is on its way
  if (from) answer(message("user", text, from.up), variants);
  else ask(text, variants);
}

/** Fill the tree: eight questions after one system prompt. */
async function demo() {
  const topics = ["a tree", "a cache", "a token", "a prompt", "a branch", "a queue", "a leaf", "a root"];
  const guide = { role: "system", content: LONG.repeat(4) };
  await Promise.all(topics.map((topic) =>
    post("v1/chat/completions", { model: state.hello.model, max_tokens: 16, messages: [guide, { role: "user", content: `What is ${topic}?` }] }).catch(() => null)));
}

/** @param {{useModel: (name: string) => void, copy: (text: string, what: string) => void}} page */
export function startChat({ useModel, copy }) {
  $("#send").onclick = () => submit(1);
  $("#eight").onclick = () => submit(8);
  $("#say").onkeydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit(1);
  };
  $("#say").oninput = foresee;
  $("#new").onclick = () => {
    start.next = [];
    start.chosen = 0;
    edited = null;
    redraw();
  };
  $("#setb").onclick = () => {
    $("#set").hidden = !$("#set").hidden;
    $("#setb").setAttribute("aria-expanded", String(!$("#set").hidden));
  };
  $("#c-model").onchange = () => useModel(value("model"));
  $("#blank").addEventListener("click", (/** @type {Event} */ event) => {
    if (/** @type {Element} */ (event.target).id === "demo") demo();
  });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => {
      const text = $("#say").value.trim();
      const messages = path(start);
      if (text) messages.push(message("user", text, null));
      const url = new URL(".", location.href).href;
      const { key, admin } = keys();
      const isCurl = button.getAttribute("data-copy") === "curl";
      try {
        const body = bodyOf(messages.length && messages[messages.length - 1].role === "assistant" ? messages.slice(0, -1) : messages);
        copy((isCurl ? asCurl : asPython)(url, body, Boolean(key || admin)), isCurl ? "curl" : "Python");
      } catch (error) {
        $("#c-error").textContent = /** @type {Error} */ (error).message;
      }
    });
  }
  redraw();
}
