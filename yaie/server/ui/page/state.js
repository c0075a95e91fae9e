// @ts-check
/** What the page knows: the tree, the numbers of now, and the choices of its viewer. */

/**
 * @typedef {{
 *   id: number, parent: number, start: number, tokens: number, hits: number, usedAt: number,
 *   tenant: string, live: number, hidden: number, role: string, text: string | null, digest: string,
 *   kids: TreeNode[], up: TreeNode | null, order: number, sum: number, tip: string, own: boolean,
 *   shown: TreeNode[], folds: TreeNode | null, count: number,
 * }} TreeNode `folds`: the node whose small children this one stands for; `count` of them
 * @typedef {{id: string, tenant: string, running: boolean, prompt: number, cached: number, output: number, age_s: number, node: number}} Running
 * @typedef {{id: string, at: number, tenant: string, prompt: number, cached: number, output: number, ttft: number | null, total: number}} Past
 */

export const state = {
  /** @type {any} */ hello: null,
  /** @type {any} */ now: null,
  /** @type {Map<number, TreeNode>} */ nodes: new Map(),
  held: 0,
  total: 0,
  others: 0,
  /** @type {[number, number, number] | null} two nodes that differ by a word, and their equal tokens */ twins: null,
  /** @type {Set<string>} ids of the page's own requests */ own: new Set(),
  /** @type {"age" | "use" | "ten"} */ mode: "age",
  /** @type {"compact" | "linear"} */ scale: "compact",
  isMasked: false,
  isPaused: false,
  isDown: false,
  zoom: 0,
  found: "",
  /** @type {Set<number>} nodes whose small children are shown */ open: new Set(),
  /** @type {Set<number>} nodes to mark */ marked: new Set(),
};

/** The root of every prompt. */
export const root = makeNode([0, -1, 0, 0, 0, 0, "", 0, 0, "", "", ""]);

/** @param {any[]} row @returns {TreeNode} */
function makeNode(row) {
  const [id, parent, start, tokens, hits, usedAt, tenant, live, hidden, role, text, digest] = row;
  return {
    id, parent, start, tokens, hits, usedAt, tenant, live, hidden, role, text, digest,
    kids: [], up: null, order: id, sum: 0, tip: "", own: false, shown: [], folds: null, count: 0,
  };
}

/** The stand-in for a node's small children. @param {TreeNode} node @param {TreeNode[]} rest @param {number} hidden */
export function makeFold(node, rest, hidden) {
  const fold = makeNode([-node.id - 1, node.id, node.start + node.tokens, 0, 0, 0, node.tenant, 0, 0, "", null, ""]);
  fold.folds = node;
  fold.count = rest.length + hidden;
  fold.tokens = Math.max(16, ...rest.map((kid) => kid.tokens));
  fold.sum = rest.reduce((sum, kid) => sum + kid.sum, 0);
  fold.hits = rest.reduce((sum, kid) => sum + kid.hits, 0);
  fold.usedAt = Math.max(0, ...rest.map((kid) => kid.usedAt));
  fold.up = node;
  return fold;
}

/**
 * Take a tree or its changes.
 * @param {{nodes: any[][], gone?: number[], held: number, total: number, others: number, twins: [number, number, number] | null}} data
 * @param {boolean} isWhole
 */
export function takeTree(data, isWhole) {
  if (isWhole) state.nodes.clear();
  for (const row of data.nodes) state.nodes.set(row[0], makeNode(row));
  for (const id of data.gone || []) state.nodes.delete(id);
  [state.held, state.total, state.others, state.twins] = [data.held, data.total, data.others, data.twins];
  link();
}

/** Link nodes to their parents and mark the tips of running requests. */
export function link() {
  root.kids = [];
  for (const node of state.nodes.values()) [node.kids, node.tip, node.own] = [[], "", false];
  for (const node of state.nodes.values()) {
    node.up = state.nodes.get(node.parent) || (node.parent ? null : root);
    if (node.up) node.up.kids.push(node);
  }
  for (const request of state.now?.requests || []) {
    let node = state.nodes.get(request.node);
    if (node && request.running) node.tip = request.id;
    const isOwn = state.own.has(request.id);
    for (; node && isOwn; node = state.nodes.get(node.parent)) node.own = true;
  }
  settle(root);
  if (!state.nodes.has(state.zoom)) state.zoom = 0;
}

/** Order children by age and sum their tokens. A split keeps the place: its lower part is the old node. @param {TreeNode} node */
function settle(node) {
  node.sum = node.tokens;
  node.order = node.id || Infinity;
  for (const kid of node.kids) {
    settle(kid);
    node.sum += kid.sum;
    node.order = Math.min(node.order, kid.order);
  }
  node.kids.sort((a, b) => a.order - b.order);
}

/** The node that the view begins with. */
export const top = () => state.nodes.get(state.zoom) || root;

/** Whether text may be shown. */
export const showsText = () => Boolean(state.hello?.text) && !state.isMasked;

const ROLES = { system: "System", developer: "System", user: "User", assistant: "Answer", model: "Answer", tool: "Tool" };

/** A line with the role of the next message. */
const NEXT_ROLE = /\n(?:system|user|assistant|model|tool|developer)(?:\n|$)/;

/** A node's name. @param {TreeNode} node */
export function title(node) {
  if (node.folds) return node.folds.shown.length > 1 ? `${node.count} more` : `${node.count} small branch${node.count === 1 ? "" : "es"}`;
  if (node === root) return "All prompts";
  const role = /** @type {Record<string, string>} */ (ROLES)[node.role] || "Text";
  if (node.text === null || !showsText()) return `${role} ${node.digest}`;
  if (role === "System" && node.tokens >= 16) return "System prompt";
  const words = node.text.trim().split(NEXT_ROLE)[0].replace(/\s+/g, " ").trim();
  const isInWord = !node.role && node.start > 0 && /^[a-z0-9]/.test(node.text);
  return words ? (isInWord ? "…" : "") + words.slice(0, 60) : role;
}
