// @ts-check
/** What a larger pool would have kept, and why prompt tokens were computed. */
import { $, count, fill, h, percent, size } from "./dom.js";
import { state } from "./state.js";

const STOPS = [["now", 0, "hit"], ["+25 %", 0.25, "hit_25"], ["+50 %", 0.5, "hit_50"], ["+100 %", 1, "hit_100"]];
const CAUSES = [["new text", "missed_new"], ["prompt differed", "missed_changed"], ["evicted", "missed_evicted"]];
let chosen = 2;

/** Draw the pane. */
export function drawLargerPool() {
  const { now, hello } = state;
  if (!now || !hello?.slots) return;
  const { window } = now;
  const box = $("#wi");
  if (window.hit === null || window.hit === undefined) {
    fill(box, h("p", { class: "none" }, "Known after the first requests: how much more a larger pool would have kept."));
    return;
  }
  if (!box.querySelector("input")) {
    fill(box,
      h("div", { class: "wi" }, h("b", { id: "wv" }), h("span", { class: "mute" }, "of prompt tokens cached")),
      h("p", { class: "mute num small", id: "wt" }),
      h("input", { type: "range", min: "0", max: "3", step: "1", value: String(chosen), "aria-label": "Pool size", id: "wr", input: choose }),
      h("div", { class: "stops", id: "ws" }),
      h("div", { class: "why" }, h("div", { class: "mute small" }, "Why prompt tokens were computed"), h("ul", { id: "wc" })));
  }
  const [name, more, field] = STOPS[chosen];
  const slots = Math.round(hello.slots * (1 + Number(more)));
  const gained = (window[field] - window.hit) * window.prompt;
  $("#wv").textContent = percent(window[field]);
  const facts = `${count(slots)} tokens · ${size(slots * hello.kv_bytes_per_token)}`;
  const gain = !more ? `${count(window.evicted)} tokens evicted in 5 min` : gained >= 1 ? `${count(gained)} tokens less to compute in 5 min` : "nothing gained: no evicted token was asked for again";
  $("#wt").textContent = `${facts} · ${gain}`;
  $("#wr").setAttribute("aria-valuetext", `${name}, ${facts}: ${percent(window[field])} cached`);
  fill($("#ws"), STOPS.map((stop, at) => h(at === chosen ? "b" : "span", {}, String(stop[0]), h("em", {}, (100 * window[stop[2]]).toFixed(1)))));
  const total = CAUSES.reduce((sum, each) => sum + window[each[1]], 0);
  fill($("#wc"), CAUSES.map(([label, cause]) => {
    const share = total ? window[cause] / total : 0;
    return h("li", {}, h("span", {}, label), h("span", {}, h("i", { style: { width: `${100 * share}%` } })), h("span", {}, `${Math.round(100 * share)} %`));
  }));
}

function choose() {
  chosen = Number($("#wr").value);
  drawLargerPool();
}
