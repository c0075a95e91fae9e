// @ts-check
/** The tree as an icicle: boxes are buttons, so that keyboard and screen reader work. */
import { $, ago, count, fill, h, patch, size, write } from "./dom.js";
import { fold, layout, ticks } from "./layout.js";
import { root, showsText, state, title, top } from "./state.js";

/** @typedef {import("./state.js").TreeNode} TreeNode */
/** @typedef {{box: HTMLElement, label: HTMLElement, node: TreeNode, drawn: string, at: string, labelAt: string}} Shape */

const ROW = 19; // px
const LETTER = 6.6;
const MOVE_MS = 300; // a little longer than the movement
/** @type {Map<number, Shape>} */
const shapes = new Map();
/** @type {Map<string, number>} tenants keep the colour that they get when they are first seen */
const tenants = new Map();
let focused = 0;
let placed = "";
let movingUntil = 0; // ms

/** Draw the tree as it is now. */
export function drawTree() {
  const box = $(".ice");
  const width = box.clientWidth;
  const height = box.clientHeight;
  if (!width) return;
  const isWide = width > 600;
  const zoom = top();
  fold(zoom, Math.floor(height / (isWide ? ROW : 25)), state.open);
  const found = layout(zoom, width, height, state.scale === "linear");
  if (found.key !== placed) movingUntil = performance.now() + MOVE_MS;
  placed = found.key;
  box.classList.toggle("moves", performance.now() < movingUntil);
  rankTenants();
  drawAxis(found, width);
  const seen = new Set();
  for (const each of found.boxes) {
    seen.add(each.node.id);
    place(each, width, isWide);
  }
  for (const [id, shape] of shapes) {
    if (seen.has(id)) continue;
    shape.box.remove();
    shape.label.remove();
    shapes.delete(id);
  }
  keepOrder(found.boxes);
  const stop = shapes.get(focused) || shapes.get(found.boxes[0]?.node.id);
  if (stop) stop.box.tabIndex = 0;
  drawPath(found.boxes);
}

/** Put the boxes into reading order, which screen readers follow, moving none that has the focus. */
function keepOrder(/** @type {import("./layout.js").Box[]} */ boxes) {
  const parent = $("#ice");
  let at = parent.firstElementChild;
  for (const { node } of boxes) {
    const box = shapes.get(node.id)?.box;
    if (!box) continue;
    if (box === at) at = at.nextElementSibling;
    else if (box !== document.activeElement) parent.insertBefore(box, at);
  }
}

/** @param {TreeNode} node */
function shapeOf(node) {
  const known = shapes.get(node.id);
  if (known) {
    known.node = node;
    return known;
  }
  /** @type {Shape} */
  const shape = { box: h("button", { class: "n", role: "treeitem", tabindex: "-1" }), label: h("span", { class: "o" }), node, drawn: "", at: "", labelAt: "" };
  const { box } = shape;
  box.addEventListener("click", () => activate(shape.node));
  box.addEventListener("mousemove", (event) => showTip(shape.node, event.clientX, event.clientY));
  box.addEventListener("mouseleave", hideTip);
  box.addEventListener("blur", hideTip);
  box.addEventListener("focus", () => {
    focused = shape.node.id;
    if (!box.matches(":focus-visible")) return;
    const at = box.getBoundingClientRect();
    showTip(shape.node, at.left + 20, at.bottom);
  });
  $("#ice").append(box);
  $("#labels").append(shape.label);
  shapes.set(node.id, shape);
  return shape;
}

/** @param {TreeNode} node */
function activate(node) {
  if (node.folds) {
    state.open.add(node.folds.id);
    if (node.folds !== root && node.folds.hidden) zoomTo(node.folds);
  } else if (node === top()) zoomTo(node.up || root);
  else if (node.kids.length) zoomTo(node);
  drawTree();
}

/** Make a node the left edge. @param {TreeNode} node */
export function zoomTo(node) {
  state.zoom = node.id;
  focused = node.id;
  hideTip();
  drawTree();
}

/** @param {import("./layout.js").Box} at @param {number} width @param {boolean} isWide */
function place({ node, x, y, w, h: height, level }, width, isWide) {
  const shape = shapeOf(node);
  const { box } = shape;
  const isTall = height >= 42;
  const isDim = Boolean(state.found) && !matches(node);
  const [paint, on, isOld] = colours(node);
  const marks = {
    tall: isTall, live: node.live && !state.isDown, tip: node.tip && !state.isDown, fold: node.folds,
    old: isOld && !node.live, dim: isDim, hot: state.marked.has(node.id),
  };
  const kind = ["n", ...Object.entries(marks).filter((each) => each[1]).map((each) => each[0])].join(" ");
  const at = [x, y, w, height, paint, kind].join();
  if (at !== shape.at) {
    shape.at = at;
    box.className = kind;
    Object.assign(box.style, {
      left: `${x}px`, top: `${y + 0.5}px`, width: `${w - 1}px`, height: `${height - 1.5}px`,
      background: paint, color: on,
    });
  }
  const name = title(node);
  const tokens = node.folds ? (node.sum ? `${count(node.sum)} tokens` : "") : `${count(node.tokens)} tokens`;
  const facts = node.folds ? tokens : `${tokens} · ${count(node.hits)} use${node.hits === 1 ? "" : "s"}`;
  const hasKids = node.shown.length > 0;
  const isInside = w >= 150 || (isTall && w >= 52) || (w >= 52 && hasKids);
  const isUpright = !isInside && hasKids && w >= 17 && height >= 96;
  const text = node.text !== null && showsText() ? node.text : "";
  const used = `used ${ago(node.usedAt)}${node.live ? ", in use" : ""}${node.folds ? ", folded" : ""}`;
  const drawn = [name, facts, used, Math.round(w), Math.round(height), isInside, isUpright, text, isDim, node.tip, width].join("\u0000");
  move(shape, x + w + 6, y + (height - 16) / 2, Math.max(0, width - x - w - 10));
  if (drawn === shape.drawn) return;
  shape.drawn = drawn;
  box.setAttribute("aria-level", String(level));
  // A name beside visible text would have to repeat it; hidden elements are laid out too.
  box.ariaLabel = isInside || isUpright ? null : `${name} ${facts} ${used}`;
  box.ariaDescription = isInside || isUpright ? used : null;
  if (isInside) patch(box, inside(node, name, facts, text, w, height, isTall));
  else patch(box, isUpright && h("span", { class: "l vert" }, h("b", {}, name), ` \u00a0${count(node.tokens)}`));
  const { label } = shape;
  const room = width - x - w - 10;
  if (!isInside && !hasKids && room > 44) {
    const after = node.tip ? [isWide ? `${count(node.tokens)} \u00a0` : "", h("em", {}, "running")] : [node.folds ? tokens : count(node.tokens)];
    patch(label, isDim ? h("span", { class: "faint" }, name) : h("b", {}, name), " \u00a0", isDim ? null : after);
  } else patch(label, isInside && node.tip && room > 60 && h("em", {}, "running"));
}

/** Put a shape's label to the right of its box. @param {Shape} shape @param {number} x @param {number} y @param {number} room */
function move(shape, x, y, room) {
  const at = [x, y, room].join();
  if (at === shape.labelAt) return;
  shape.labelAt = at;
  Object.assign(shape.label.style, { left: `${x}px`, top: `${y}px`, maxWidth: `${room}px` });
}

/** The content of a box with room. */
function inside(/** @type {TreeNode} */ node, /** @type {string} */ name, /** @type {string} */ facts, /** @type {string} */ text, /** @type {number} */ w, /** @type {number} */ height, /** @type {boolean} */ isTall) {
  const isNarrow = w < 150;
  const label = h("span", { class: "l", style: { right: node.tip ? "26px" : "", lineHeight: isTall ? "" : `${height - 2}px` } }, h("b", {}, name));
  if (isTall && isNarrow) {
    label.append(h("i", {}, `${count(node.tokens)}${w > 92 ? " tokens" : ""}`));
    if (height > 60 && !node.folds) label.append(h("i", {}, `${count(node.hits)} use${node.hits === 1 ? "" : "s"}`));
  } else if (isTall) label.append(h("i", {}, facts));
  else if (w - (node.tip ? 26 : 0) >= name.length * LETTER + 150) label.append(" ", h("i", {}, `\u00a0${facts}`));
  else if (w >= name.length * LETTER + 74) label.append(" ", h("i", {}, `\u00a0${count(node.tokens)}`));
  const lines = Math.floor((height - (isNarrow ? 72 : 56)) / 17);
  if (isTall && lines > 0 && w >= 116 && text) {
    label.append(h("span", { class: "tx", "aria-hidden": "true", style: { webkitLineClamp: String(Math.min(lines, 7)) } }, text));
  }
  return label;
}

/** Colour of a box, of its text, and whether it is pale. @param {TreeNode} node @returns {[string, string, boolean]} */
function colours(node) {
  if (node.folds) return ["", "", false];
  if (state.mode === "ten") return [`var(--t${tenantColour(node.tenant)})`, "#0a0c0f", true];
  const seconds = node.live ? 0 : node.usedAt ? Date.now() / 1000 - node.usedAt : Infinity;
  const steps = state.mode === "age" ? [15, 90, 600, 3600] : [32, 12, 4, 2];
  const step = steps.findIndex((each) => (state.mode === "age" ? seconds < each : node.hits >= each));
  const at = step < 0 ? 4 : step;
  return [`var(--${state.mode === "age" ? "a" : "u"}${at})`, `var(--on${at})`, at >= 3];
}

/** @param {string} tenant */
const tenantColour = (tenant) => Math.min(7, (tenants.get(tenant) ?? 6) + 1);

/** @returns {[string, number][]} tenants with their tokens, the largest first */
function rankTenants() {
  const held = new Map();
  for (const node of state.nodes.values()) held.set(node.tenant, (held.get(node.tenant) || 0) + node.tokens);
  const ranked = [...held].sort((a, b) => b[1] - a[1]);
  for (const [tenant] of ranked) if (!tenants.has(tenant)) tenants.set(tenant, tenants.size);
  return ranked;
}

/** @param {TreeNode} node */
const matches = (node) => showsText() && (node.text || "").toLowerCase().includes(state.found);

/** @param {ReturnType<typeof layout>} found @param {number} width */
function drawAxis(found, width) {
  const marks = ticks(found, state.scale === "linear");
  const last = found.scale(marks[marks.length - 1][0]);
  const isEmpty = !state.nodes.size;
  const key = [isEmpty, width, ...marks.flatMap(([at, isSplit]) => [at, isSplit, found.scale(at)])].join();
  write($("#axis"), key, () => isEmpty ? null : [
    marks.map(([at, isSplit]) => h("span", { class: isSplit ? "sp" : "", style: { left: `${found.scale(at)}px` } }, count(at))),
    width - last <= 100 ? null : h("span", { style: { left: `${last + 30}px`, transform: "none" } }, "tokens"),
  ]);
  write($("#lines"), key, () => marks.slice(1).map(([at]) => h("div", { class: "gl", style: { left: `${found.scale(at)}px` } })));
}

/** @param {import("./layout.js").Box[]} boxes */
function drawPath(boxes) {
  /** @type {TreeNode[]} */
  const path = [];
  for (let node = /** @type {TreeNode | null} */ (top()); node; node = node === root ? null : node.up || root) path.unshift(node);
  const zoomed = path[path.length - 1];
  const facts = zoomed === root ? `${count(state.held)} tokens in ${count(state.total)} nodes` : `${count(zoomed.sum)} tokens · Esc goes back`;
  const hits = state.found ? boxes.filter((box) => matches(box.node)) : [];
  const found = state.found ? ` · ${hits.length} found, ${count(hits.reduce((sum, box) => sum + box.node.tokens, 0))} tokens` : "";
  const others = state.others > 0.001 ? ` · others: ${Math.round(100 * state.others)} %` : "";
  const names = path.map(title);
  write($("#path"), [facts, others, found, ...path.map((node) => node.id), ...names].join("\u0000"), () => [
    path.flatMap((node, at) =>
      at < path.length - 1 ? [h("button", { click: () => zoomTo(node) }, names[at]), h("span", { class: "faint" }, "›")] : [h("span", {}, names[at])]),
    h("span", { class: "faint num" }, facts + others + found),
  ]);
}

/** Say what colours and outlines mean. */
export function drawLegend() {
  /** @param {string} name @param {string} from @param {string} to */
  const ramp = (name, from, to) =>
    h("span", {}, from, h("span", { class: "ramp" }, [0, 1, 2, 3, 4].map((at) => h("i", { style: { background: `var(--${name}${at})` } }))), to);
  const held = state.mode === "ten" ? rankTenants() : [];
  const total = held.reduce((sum, each) => sum + each[1], 0) || 1;
  /** @param {number} tokens */
  const share = (tokens) => h("b", {}, `${Math.round((100 * tokens) / total)} %`);
  /** @param {number} colour */
  const swatch = (colour) => h("span", { class: "sw", style: { background: `var(--t${colour})` } });
  const rest = held.slice(6);
  const colour =
    state.mode === "age" ? [ramp("a", "used now", "over 1 h ago")]
    : state.mode === "use" ? [ramp("u", "32 uses", "1 use")]
    : [
        ...held.slice(0, 6).map(([name, tokens]) => h("span", {}, swatch(tenantColour(name)), `${name || "everyone"} `, share(tokens))),
        rest.length ? h("span", {}, swatch(7), `${rest.length} others `, share(rest.reduce((sum, each) => sum + each[1], 0))) : null,
      ];
  write($("#leg"), [state.mode, Boolean(state.nodes.size), ...held.flat()].join("\u0000"), () =>
    state.nodes.size ? [
      ...colour,
      h("span", {}, h("span", { class: "sw inuse" }), "in use"),
      h("span", {}, h("span", { class: "sw hatch" }), "growing"),
      h("span", { class: "sp" }),
      state.mode === "ten" ? null : h("span", { class: "wide" }, "Read left to right. Width: tokens. Height: branches that share them."),
    ] : h("span", {}, "Prompts appear here while they are computed, and stay for the next one that begins alike."));
}

/** Name two branches that differ by one word: one of them is probably held in vain. */
export function drawHint() {
  const hint = $("#hint");
  const pair = state.twins;
  hint.hidden = !pair || top() !== root;
  if (!pair) return;
  write(hint, pair.join(), () => [`${count(pair[2])} tokens are held twice`, h("span", { class: "wide" }, ": alike except for a word")]);
  hint.onclick = () => {
    state.marked = state.marked.size ? new Set() : new Set(pair.slice(0, 2));
    drawTree();
  };
}

/** @param {TreeNode} node @param {number} x @param {number} y */
function showTip(node, x, y) {
  const box = $("#tip");
  const tokens = node.folds ? node.sum : node.tokens;
  /** @param {string} name @param {string} value */
  const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
  const isHidden = node.text === null || !showsText();
  fill(
    box,
    h("b", {}, title(node)),
    h("dl", {},
      fact("Tokens", count(tokens)),
      state.hello?.kv_bytes_per_token ? fact("Memory", size(tokens * state.hello.kv_bytes_per_token)) : null,
      fact("Uses", count(node.hits)),
      fact("Last used", node.live ? "in use" : ago(node.usedAt)),
      node.tenant ? fact("Tenant", node.tenant) : null,
      node.tip ? fact("Running", node.tip) : null),
    isHidden ? null : h("q", {}, node.text || ""),
  );
  box.style.display = "block";
  const at = box.getBoundingClientRect();
  box.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - at.width - 10))}px`;
  box.style.top = `${y + at.height + 24 > innerHeight ? y - at.height - 10 : y + 16}px`;
}

function hideTip() {
  $("#tip").style.display = "none";
}

/** Move the focus by a key; return whether the key was meant for the tree. @param {string} key */
export function moveFocus(key) {
  const node = shapes.get(focused)?.node;
  if (!node) return false;
  const siblings = node === top() ? [node] : (node.up || root).shown;
  const at = siblings.findIndex((each) => each.id === node.id);
  const ids = [...$("#ice").children].map((box) => [...shapes.values()].find((shape) => shape.box === box)?.node);
  const target = {
    ArrowRight: node.shown[0], ArrowLeft: node === top() || node.up === root ? undefined : node.up,
    ArrowDown: siblings[at + 1], ArrowUp: siblings[at - 1], Home: ids[0], End: ids[ids.length - 1],
  }[key];
  const shape = target && shapes.get(target.id);
  if (!shape) return false;
  for (const each of shapes.values()) each.box.tabIndex = -1;
  focused = target.id;
  shape.box.tabIndex = 0;
  shape.box.focus();
  return true;
}
