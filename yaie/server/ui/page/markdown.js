// @ts-check
/** The Markdown of answers, as elements: markup in an answer stays text. */
import { h } from "./dom.js";

const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|\*[^*\s][^*\n]*\*|_[^_\s][^_\n]*_)/;

/** @param {string} text @returns {Node[]} blocks */
export function markdown(text) {
  /** @type {Node[]} */
  const blocks = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const fence = /^\s*(```+|~~~+)/.exec(line);
    if (fence) {
      const code = [];
      for (at++; at < lines.length && !lines[at].trim().startsWith(fence[1]); at++) code.push(lines[at]);
      at++;
      blocks.push(h("pre", { tabindex: "0" }, h("code", {}, code.join("\n"))));
    } else if (/^#{1,6}\s/.test(line)) {
      blocks.push(h("p", {}, h("b", {}, inline(line.replace(/^#+\s+/, "")))));
      at++;
    } else if (/^\s*([-*+]|\d+[.)])\s+/.test(line)) {
      const isOrdered = /^\s*\d/.test(line);
      const items = [];
      for (; at < lines.length && /^\s*([-*+]|\d+[.)])\s+/.test(lines[at]); at++) items.push(h("li", {}, inline(lines[at].replace(/^\s*([-*+]|\d+[.)])\s+/, ""))));
      blocks.push(h(isOrdered ? "ol" : "ul", {}, items));
    } else if (/^>\s?/.test(line)) {
      const quoted = [];
      for (; at < lines.length && /^>\s?/.test(lines[at]); at++) quoted.push(lines[at].replace(/^>\s?/, ""));
      blocks.push(h("blockquote", {}, inline(quoted.join(" "))));
    } else if (!line.trim()) at++;
    else {
      const words = [];
      for (; at < lines.length && lines[at].trim() && !/^(\s*(```|~~~)|#{1,6}\s|>|\s*([-*+]|\d+[.)])\s)/.test(lines[at]); at++) words.push(lines[at]);
      if (!words.length) words.push(lines[at++]);
      blocks.push(h("p", {}, words.flatMap((each, place) => (place ? [h("br"), ...inline(each)] : inline(each)))));
    }
  }
  return blocks;
}

/** @param {string} text @returns {(Node | string)[]} */
function inline(text) {
  return text.split(INLINE).filter(Boolean).map((part) => {
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) return h("code", {}, part.slice(1, -1));
    if (part.length > 4 && part.startsWith("**") && part.endsWith("**")) return h("b", {}, part.slice(2, -2));
    if (part.length > 2 && /^([*_]).+\1$/.test(part)) return h("em", {}, part.slice(1, -1));
    return part;
  });
}
