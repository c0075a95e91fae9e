// @ts-check
/** Token strips: cached solid, computed hatched, each with its count. */
import { count, h } from "./dom.js";

/**
 * A strip of consecutive parts of a prompt.
 * @param {[kind: "k" | "x", tokens: number][]} parts k: cached, x: computed
 * @param {string} label
 * @param {string} [kind] class
 */
export function strip(parts, label, kind = "strip") {
  return h(
    "div",
    { class: kind, role: "img", "aria-label": label },
    parts.filter((part) => part[1] > 0).map(([name, tokens]) => h("i", { class: name, style: { flex: String(tokens) } })),
  );
}

/**
 * A prompt's strip with its counts.
 * @param {number} cached
 * @param {number} total
 * @param {...(Node | null)} after
 */
export function promptStrip(cached, total, ...after) {
  const computed = total - cached;
  return [
    strip([["k", cached], ["x", computed]], `${count(cached)} cached, ${count(computed)} computed`),
    h("div", { class: "fact" },
      h("span", {}, h("i", { class: "sq k" }), h("b", {}, count(cached)), " cached"),
      h("span", {}, h("i", { class: "sq x" }), h("b", {}, count(computed)), " computed"),
      ...after),
  ];
}
