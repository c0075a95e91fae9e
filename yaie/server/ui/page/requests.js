// @ts-check
/** The requests that wait and run, oldest first; with the admin key they can be ended. */
import { $, count, duration, fill, h } from "./dom.js";
import { post } from "./feed.js";
import { state } from "./state.js";
import { strip } from "./strip.js";

/** @typedef {import("./state.js").Running} Running */
const ROWS = 8;
let drawn = "";

/** Whether this viewer may end requests. */
const mayAbort = () => state.hello && (state.hello.admin || !state.hello.has_admin_key);

/** Draw the table, unless it would be the same or a button in it has the focus. */
export function drawRequests() {
  const { now, hello } = state;
  if (!now || !hello) return;
  const box = $("#rq");
  if (state.isDown) return;
  const key = JSON.stringify([now.requests, now.more, hello.admin]);
  if (key === drawn || box.contains(document.activeElement)) return;
  drawn = key;
  $("#abortnote").textContent = mayAbort() ? "" : "abort needs the admin key";
  /** @type {Running[]} */
  const rows = now.requests;
  if (!rows.length && !now.more.n) {
    fill(box, h("p", { class: "none" }, "No request is waiting or running."));
    return;
  }
  const shown = rows.slice(0, ROWS);
  const rest = rows.slice(ROWS);
  const restTokens = rest.reduce((sum, each) => sum + each.prompt - each.cached, 0) + now.more.tokens;
  const restCount = rest.length + now.more.n;
  fill(box,
    h("table", {},
      h("thead", {}, h("tr", {}, ["Request", "Tenant", "Answer", "Prompt", "Cached", "Age"].map((name) => h("th", { scope: "col", class: name === "Tenant" || name === "Age" ? "w" : "" }, name)), h("th", { scope: "col" }, h("span", { class: "vh" }, "Abort")))),
      h("tbody", {}, shown.map(row),
        restCount ? h("tr", { class: "more" }, h("td", { colspan: "7" }, `${count(restCount)} more${restTokens ? `, ${count(restTokens)} tokens to compute` : ""}`)) : null)));
}

/** @param {Running} each */
function row(each) {
  const label = `${count(each.cached)} cached, ${count(each.prompt - each.cached)} to compute`;
  return h("tr", {},
    h("td", { class: "mono", title: each.id }, each.id.slice(-6)),
    h("td", { class: "w mute" }, each.tenant || "–"),
    h("td", {}, each.running ? `${count(each.output)} tokens` : h("span", { class: "mute" }, each.output ? "paused" : "waiting")),
    h("td", { class: "bar" }, strip([["k", each.cached], ["x", each.prompt - each.cached]], label, "rb")),
    h("td", {}, `${count(each.cached)} `, h("span", { class: "faint" }, `of ${count(each.prompt)}`)),
    h("td", { class: "w mute" }, duration(each.age_s)),
    h("td", {}, mayAbort() ? h("button", { class: "abort", "aria-label": `Abort ${each.id}`, click: (/** @type {Event} */ event) => abort(each, /** @type {HTMLElement} */ (event.currentTarget)) }, "Abort") : null));
}

/** @param {Running} each @param {HTMLElement} button */
async function abort(each, button) {
  try {
    await post("ui/abort", { id: each.id });
    button.textContent = "ended";
  } catch (error) {
    button.textContent = /** @type {Error} */ (error).message;
  }
  button.blur();
}

/** Say what became of the requests when the engine stopped. */
export function drawLostRequests() {
  drawn = "";
  const lost = state.now?.requests.length || 0;
  fill($("#rq"), h("p", { class: "none" }, lost
    ? `${lost} request${lost === 1 ? " was" : "s were"} cut off when the engine stopped. Send ${lost === 1 ? "it" : "them"} again.`
    : "No request was running when the engine stopped."));
}
