// @ts-check
/** Why a prompt was not in the cache: the verdict first, then the place, the words and a way out. */
import { $, count, duration, fill, h } from "./dom.js";
import { post } from "./feed.js";
import { showsText, state } from "./state.js";
import { promptStrip } from "./strip.js";
import { drawTree } from "./tree.js";

/** @typedef {{cause: string, prompt: number, cached: number, position: number, field: string, role: string, before: string | null, yours: string | null, held: {text: string | null, tokens: number}[], evicted: number, evictedAgo: number | null, ttft: number | null, reason: string}} Explained */

const PASTE = "paste";
/** @type {Explained | null} */
let shown = null;
let listed = "";
let isAsked = false;

/** List the last requests. */
export function drawPicks() {
  const pick = $("#pick");
  /** @type {import("./state.js").Past[]} */
  const calls = [...(state.now?.recent || [])].reverse();
  const key = calls.map((call) => call.id).join();
  if (key === listed && pick.options.length) return;
  listed = key;
  const chosen = pick.value;
  fill(pick,
    h("option", { value: "" }, calls.length ? "Pick a request…" : "no request yet"),
    calls.map((call) => {
      const at = new Date(1000 * call.at).toLocaleTimeString("en-GB");
      return h("option", { value: call.id }, `${at} · ${duration(call.ttft)} · ${count(call.prompt - call.cached)} computed${call.tenant ? ` · ${call.tenant}` : ""}`);
    }),
    h("option", { value: PASTE }, "Paste a request…"));
  pick.value = [...pick.options].some((option) => option.value === chosen) ? chosen : "";
  if (!shown && !isAsked) drawNothing();
}

function drawNothing() {
  fill($("#ex"), h("p", { class: "none" }, "Pick a request: this pane names the first token at which it left the cache, and why."));
}

/** Show an explanation that came with an answer of the playground. @param {any} found @param {number | null} ttft */
export function showUsage(found, ttft) {
  show(ofServer(found, ttft));
  $("#pick").value = "";
  $("#why").scrollIntoView({ behavior: "smooth", block: "center" });
}

/** The server's explanation in this pane's form. @param {any} found @param {number | null} ttft @returns {Explained} */
function ofServer(found, ttft) {
  const place = found.divergence;
  const held = place?.held || [];
  let cause = found.cause || "cached";
  if (cause === "never_seen" && held.some((/** @type {any} */ each) => each.tokens >= 256)) cause = "changed";
  return {
    cause, ttft, prompt: found.prompt_tokens, cached: found.cached_tokens, position: place?.position ?? found.cached_tokens,
    field: place?.field || "", role: "", before: place?.before ?? null, yours: place?.text ?? null, held,
    evicted: found.eviction?.tokens || 0, evictedAgo: found.eviction?.age_s ?? null, reason: found.reason,
  };
}

/** @param {Explained} found */
function show(found) {
  shown = found;
  drawExplained();
}

/** Draw the explanation again, after text was hidden or shown. */
export function drawExplained() {
  if (!shown) return;
  const each = shown;
  const behind = each.prompt - each.cached;
  const place = each.cached > 1 ? places(each.field, each.role) : "";
  fill($("#ex"),
    h("p", { class: "lead" }, verdict(each)),
    h("p", { class: "mute" },
      place ? `${place}. ` : "",
      behind > 1 ? ["The ", h("b", {}, `${count(behind)} tokens`), " from there on were computed", each.ttft ? [": ", h("b", {}, duration(each.ttft)), " to the first token."] : "."] : "Only the last token is computed, which is always needed."),
    words(each),
    promptStrip(each.cached, each.prompt, h("button", { click: mark }, "Show in the tree")),
    tip(each));
}

/** @param {Explained} each */
function verdict(each) {
  const at = count(each.position);
  switch (each.cause) {
    case "cached": return "It was cached.";
    case "whole": return "Its vector needs each of its tokens, cached or not.";
    case "changed": return `It parts from the cache at token ${at}.`;
    case "template_changed": return `Its frame changed at token ${at}.`;
    case "evicted": {
      const when = each.evictedAgo === null ? "" : ` ${duration(each.evictedAgo)} ago`;
      return `It was here, and was evicted${when}.`;
    }
    case "other_namespace": return "It is cached under another cache salt.";
    case "no_state": return "No state of the recurrent layers is held so far into it.";
    case "not_computed_yet": return "Its beginning was still being computed.";
    default: return each.cached > 1 ? `New text from token ${at} on.` : "New text: nothing cached begins like this.";
  }
}

/** @param {string} field @param {string} role */
function places(field, role) {
  if (!field || field === "prompt") return "";
  if (field === "tools") return "In the tools";
  if (field === "template") return "In the chat template";
  if (field === "system" || field === "instructions") return "In the system message";
  const at = /^(messages|input)\[(\d+)\](?:\.(\w+))?/.exec(field);
  if (!at) return "";
  const part = at[3] === "tool_calls" ? "In the tool calls of message" : "In message";
  return `${part} ${Number(at[2]) + 1}${role ? ` (${role})` : ""}`;
}

/** @param {Explained} each */
function words(each) {
  const other = each.held[0];
  if (each.cause === "cached" || each.cause === "whole") return null;
  if (!showsText() || each.yours === null) return other ? h("p", { class: "mute" }, `Another prompt continues there with ${count(other.tokens)} cached tokens. Text is hidden.`) : null;
  const before = (each.before || "").slice(-24);
  const [mine, theirs] = [firstWord(each.yours), firstWord(other?.text || "")];
  /** @param {string} name @param {[string, string]} parts */
  const line = (name, parts) => h("div", {}, h("span", {}, name), h("code", {}, `…${before}`, h("mark", {}, parts[0]), parts[1]));
  return h("div", { class: "diff" }, line("yours", mine), other ? line("cached", theirs) : null);
}

/** @param {string} text @returns {[string, string]} the first word and the rest, on one line */
function firstWord(text) {
  const line = text.replace(/\n/g, "⏎");
  const found = /^\s*\S+/.exec(line);
  const length = found ? found[0].length : line.length;
  return [line.slice(0, length), line.slice(length, length + 60)];
}

/** @param {Explained} each */
function tip(each) {
  const other = each.held[0];
  if (each.cause === "evicted") return h("p", { class: "tipbox" }, `A larger pool keeps it: see "With a larger pool". ${count(each.evicted)} tokens had been evicted.`);
  if (each.cause === "changed" || each.cause === "template_changed") {
    return h("p", { class: "tipbox" }, `Put the part that changes after the part that stays.${other ? ` Then up to ${count(other.tokens)} tokens stay cached from one request to the next.` : ""}`);
  }
  return null;
}

/** Mark the node at which the prompt leaves the cache. */
function mark() {
  if (!shown) return;
  const at = shown.position;
  const ends = [...state.nodes.values()].filter((node) => node.start === at || (node.start < at && at < node.start + node.tokens));
  state.zoom = 0;
  state.marked = state.marked.size ? new Set() : new Set(ends.map((node) => node.id));
  drawTree();
  $("#tree").scrollIntoView({ block: "nearest", behavior: "smooth" });
}

/** Ask for what was picked. */
async function picked() {
  const id = $("#pick").value;
  isAsked = Boolean(id);
  shown = null;
  if (!id) return drawNothing();
  if (id === PASTE) return drawForm();
  try {
    const found = await post("ui/explain", { id });
    show({ ...found, evictedAgo: null, reason: "" });
  } catch (error) {
    fill($("#ex"), h("p", { class: "none" }, /** @type {Error} */ (error).message));
  }
}

function drawForm() {
  const text = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "paste", spellcheck: "false", placeholder: '{"messages": [{"role": "user", "content": "…"}]}' }));
  const problem = h("p", { class: "bad", role: "status" });
  const ask = async () => {
    try {
      show(ofServer(await post("v1/cache/explain", { model: state.hello.model, ...JSON.parse(text.value) }), null));
    } catch (error) {
      problem.textContent = error instanceof SyntaxError ? "This is not JSON." : /** @type {Error} */ (error).message;
    }
  };
  fill($("#ex"), h("div", { class: "paste" }, h("label", { for: "paste" }, "A request as JSON: messages or prompt"), text, h("button", { class: "b p", click: ask }, "Explain"), problem));
}

export function startExplain() {
  $("#pick").addEventListener("change", picked);
  drawPicks();
}
