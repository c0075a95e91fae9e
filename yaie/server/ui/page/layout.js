// @ts-check
/** Places of the icicle: x is the position of a token, y are branches. Pure. */
import { makeFold, root } from "./state.js";

/** @typedef {import("./state.js").TreeNode} TreeNode */
/** @typedef {{node: TreeNode, x: number, y: number, w: number, h: number, level: number}} Box */

const LEAST_BOX = 6; // px

/**
 * Choose the nodes to show: rows are a budget, spent on the children of most worth.
 * @param {TreeNode} top
 * @param {number} most rows
 * @param {Set<number>} open nodes whose small children are wanted
 */
export function fold(top, most, open) {
  /** @type {Map<TreeNode, Set<TreeNode>>} */
  const chosen = new Map();
  /** @param {TreeNode} node */
  const of = (node) => {
    const found = chosen.get(node) || new Set();
    chosen.set(node, found);
    return found;
  };
  /** @param {TreeNode} node @param {TreeNode} up */
  const worth = (node, up) =>
    (open.has(up.id) ? 8e12 : 0) + (node.own ? 4e12 : 0) + (node.live ? 1e12 : 0) + (node.hits + 1) * node.sum;
  /** @param {TreeNode} up */
  const numLeft = (up) => up.kids.length + up.hidden - of(up).size;
  /** @type {[TreeNode, TreeNode, number][]} */
  let waiting = top.kids.map((kid) => [kid, top, worth(kid, top)]);
  let rows = 1;
  while (waiting.length) {
    if (rows >= most) waiting = waiting.filter((each) => numLeft(each[1]) === 1); // only these are free
    if (!waiting.length) break;
    let best = 0;
    waiting.forEach((each, at) => {
      if (each[2] > waiting[best][2]) best = at;
    });
    const [node, up] = waiting.splice(best, 1)[0];
    const cost = numLeft(up) === 1 ? 0 : 1;
    if (rows + cost > most) continue;
    rows += cost;
    of(up).add(node);
    for (const kid of node.kids) waiting.push([kid, node, worth(kid, node)]);
  }
  /** @param {TreeNode} node */
  const settle = (node) => {
    const shown = of(node);
    const rest = node.kids.filter((kid) => !shown.has(kid));
    node.shown = node.kids.filter((kid) => shown.has(kid));
    node.shown.forEach(settle);
    if (rest.length || node.hidden) node.shown.push(makeFold(node, rest, node.hidden));
  };
  settle(top);
}

/** @param {TreeNode} node @returns {number} rows */
export const leaves = (node) => (node.shown.length ? node.shown.reduce((sum, kid) => sum + leaves(kid), 0) : 1);

/**
 * Return the boxes below a node and the scale of their axis.
 * @param {TreeNode} top
 * @param {number} width px
 * @param {number} height px
 * @param {boolean} isLinear
 */
export function layout(top, width, height, isLinear) {
  /** @type {Box[]} */
  const boxes = [];
  const isRoot = top === root;
  const base = isRoot ? 0 : top.start;
  /** @param {TreeNode} node @returns {number} */
  const reach = (node) => Math.max(node.start + node.tokens, ...node.shown.map(reach));
  const max = Math.max(1, reach(top) - base);
  const key = `${width} ${height} ${isLinear} ${structure(top)}`;
  const room = width > 600 ? width * 0.82 : width * 0.62; // labels of leaves stand to their right
  const scale = isLinear ? (/** @type {number} */ at) => ((at - base) / max) * room : settled(key, () => compact(top, base, max, room, width));
  const rowHeight = Math.min(height / leaves(top), isRoot ? 99 : 36);
  let y = 0;
  /** @param {TreeNode} node @param {number} least @param {number} level */
  const put = (node, least, level) => {
    const h = leaves(node) * rowHeight;
    const from = y;
    const x = Math.max(scale(node.start), least);
    let end = 0;
    if (node !== root) {
      end = Math.max(scale(node.start + node.tokens), x + LEAST_BOX);
      boxes.push({ node, x, y: from, w: end - x, h, level });
    }
    if (node.shown.length) node.shown.forEach((kid) => put(kid, end, level + 1));
    else y = from + rowHeight;
  };
  put(top, 0, isRoot ? 0 : 1);
  return { boxes, scale, base, max, key };
}

/**
 * What places depend on: it changes with a branch, or when a node has doubled, not with each token.
 * @param {TreeNode} node
 * @returns {string}
 */
const structure = (node) => `${node.id}:${node.start}:${Math.clz32(node.tokens)}[${node.shown.map(structure)}]`;

/** @type {{key: string, scale: (at: number) => number}} */
let last = { key: "", scale: (at) => at };

/** The scale of a structure, made once. @param {string} key @param {() => (at: number) => number} make */
function settled(key, make) {
  if (key !== last.key) last = { key, scale: make() };
  return last.scale;
}

/**
 * A monotone scale on which short nodes stay legible: each part of the axis is as wide as its
 * shortest node there asks for.
 * @param {TreeNode} top
 * @param {number} base
 * @param {number} max
 * @param {number} room px of the axis until `max`
 * @param {number} width px of the axis, however far nodes grow until the next scale
 */
function compact(top, base, max, room, width) {
  /** @type {[number, number, number][]} */
  const parts = [];
  /** @param {TreeNode} node */
  const walk = (node) => {
    if (node.tokens) parts.push([node.start - base, node.start - base + node.tokens, node.tokens ** -0.64]);
    node.shown.forEach(walk);
  };
  walk(top);
  const cuts = [...new Set([0, max, ...parts.flatMap((part) => [part[0], part[1]])])].sort((a, b) => a - b);
  const at = [0];
  for (let i = 1; i < cuts.length; i++) {
    const middle = (cuts[i - 1] + cuts[i]) / 2;
    let density = 0;
    for (const part of parts) if (part[0] < middle && middle < part[1] && part[2] > density) density = part[2];
    at.push(at[i - 1] + (cuts[i] - cuts[i - 1]) * density);
  }
  const unit = room / (at[at.length - 1] || 1);
  return (/** @type {number} */ absolute) => {
    const position = absolute - base;
    if (position > max) return room + (width - room) * (1 - max / position);
    let i = 1;
    while (i < cuts.length - 1 && cuts[i] < position) i++;
    const share = (position - cuts[i - 1]) / (cuts[i] - cuts[i - 1] || 1);
    return (at[i - 1] + (at[i] - at[i - 1]) * share) * unit;
  };
}

/**
 * Ticks of the axis: ends of the largest nodes first, then round numbers.
 * @param {ReturnType<typeof layout>} found
 * @param {boolean} isLinear
 * @returns {[position: number, isSplit: boolean][]}
 */
export function ticks({ boxes, scale, base, max }, isLinear) {
  /** @type {[number, boolean][]} */
  const chosen = [[base, true]];
  /** @param {number} at @param {number} gap */
  const fits = (at, gap) =>
    at > base && at - base <= max && scale(at) >= (base ? 66 : 30) &&
    chosen.every(([other]) => Math.abs(scale(at) - scale(other)) >= gap);
  const large = boxes.filter(({ node, h }) => node.tokens >= 16 && node.shown.length > 1 && h > 60);
  for (const { node } of large.sort((a, b) => b.h - a.h).slice(0, 3)) {
    const at = node.start + node.tokens;
    if (fits(at, 50)) chosen.push([at, true]);
  }
  const step = [10, 25, 50, 100, 250, 500, 1000, 2000, 5000, 10000, 20000].find((each) => max / each <= 7) || 50000;
  const round = isLinear
    ? Array.from({ length: 60 }, (_, at) => (Math.floor(base / step) + at + 1) * step)
    : [16, 64, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 32768, 65536, 131072];
  for (const at of round) if (fits(at, 58)) chosen.push([at, false]);
  return chosen.sort((a, b) => a[0] - b[0]);
}
