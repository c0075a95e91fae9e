// @ts-check
/** The page: it takes the feed, draws at most once a frame, and keeps its viewer's choices. */
import { drawCharts, startCharts, takePoint, takeSeries } from "./charts.js";
import { drawChat, startChat } from "./chat.js";
import { $, copy, count, duration, fill, h, percent, short } from "./dom.js";
import { drawExplained, drawPicks, startExplain } from "./explain.js";
import { follow, keepKeys, keys } from "./feed.js";
import { drawLargerPool } from "./larger_pool.js";
import { drawLostRequests, drawRequests } from "./requests.js";
import { link, root, state, takeTree, top } from "./state.js";
import { drawHint, drawLegend, drawTree, moveFocus, zoomTo } from "./tree.js";

const STALE_S = 5;
let heardAt = 0;
let isDirty = false;
/** @type {() => void} */
let stop = () => {};
let model = "";

/** @param {string} name @param {any} data */
function take(name, data) {
  heardAt = Date.now();
  if (name === "hello") {
    state.hello = data;
    takeSeries(data.series);
    document.body.classList.remove("loading", "nokey");
    $("#keys").hidden = $("#keyb").getAttribute("aria-expanded") !== "true";
    drawHello();
  } else if (name === "tree" || name === "delta") takeTree(data, name === "tree");
  else if (name === "now") {
    const wasDown = state.isDown;
    // An engine that starts again has a reason: its end.
    state.isDown = ["dead", "failed", "stalled"].includes(data.state) || (data.state === "starting" && Boolean(data.reason));
    if (state.isDown && !wasDown) drawLostRequests();
    state.now = state.isDown ? { ...data, requests: [] } : data;
    if (data.point) takePoint(data.point);
    link();
  }
  if (!isDirty && !state.isPaused) {
    isDirty = true;
    requestAnimationFrame(draw);
  }
}

/** Draw everything that has changed. */
function draw() {
  isDirty = false;
  const isEmpty = !state.nodes.size;
  document.body.classList.toggle("empty", isEmpty);
  document.body.classList.toggle("down", state.isDown);
  drawState();
  drawSummary();
  drawTree();
  drawLegend();
  drawHint();
  if (!$("#cs").matches(":hover")) drawCharts();
  drawRequests();
  drawPicks();
  drawLargerPool();
  drawChat();
  $("#blank").hidden = !isEmpty;
  $("#find").disabled = isEmpty || !state.hello?.text || state.isMasked;
  $("#find").placeholder = state.isMasked || !state.hello?.text ? "Text is hidden" : "Find text   /";
}

function drawHello() {
  const { hello } = state;
  $("#model").textContent = hello.model;
  $("#device").textContent = [hello.quantization || hello.dtype, hello.device].filter(Boolean).join(" · ");
  $("#mask").disabled = !hello.text;
  $("#mask").textContent = hello.text && !state.isMasked ? "Hide text" : "Show text";
  $("#mask").title = hello.text ? "" : "Text is shown on the server's machine, or with --ui-show-text";
  drawBlank();
}

const STATES = { starting: "Loading", ready: "Ready", draining: "Stopping", dead: "Stopped", failed: "Stopped", stalled: "Hung", unloaded: "Not loaded" };

function drawState() {
  const { now } = state;
  if (!now) return;
  const isAgain = state.isDown && now.state === "starting";
  const name = isAgain ? "Starting again" : now.state === "ready" && now.running ? "Busy" : /** @type {Record<string, string>} */ (STATES)[now.state] || now.state;
  $("#st").textContent = name;
  $("#state").dataset.s = state.isDown ? "bad" : now.state === "ready" ? "ok" : "wait";
  $("#up").textContent = `up ${duration(now.up_s)}`;
  const banner = $("#banner");
  if (state.isDown && !banner.dataset.shown) {
    banner.dataset.shown = "1";
    const at = new Date().toLocaleTimeString("en-GB");
    fill(banner, h("div", {}, h("b", {}, `The engine stopped at ${at}.`), ` ${sentence(now.reason)}It is started again, with an empty cache. The page shows the last state it saw.`));
  } else if (!state.isDown && banner.dataset.shown) {
    delete banner.dataset.shown;
    fill(banner);
  }
}

/** @param {string} reason */
const sentence = (reason) => (reason ? `${reason[0].toUpperCase()}${reason.slice(1)}${reason.endsWith(".") ? "" : "."} ` : "");

function drawSummary() {
  const { now, hello } = state;
  if (!now) return;
  const w = now.window;
  const hasHits = w.hit !== null;
  $("#hit").textContent = hasHits ? percent(w.hit) : state.nodes.size ? "–" : "No request yet";
  $("#hit1").textContent = hasHits || state.nodes.size ? "of prompt tokens from the cache" : `YAIE has been up for ${duration(now.up_s)}`;
  $("#hit2").textContent = hasHits ? `${short(w.cached)} of ${short(w.prompt)} · last 5 minutes` : state.nodes.size ? "no request in the last 5 minutes" : "";
  /** @param {string} id @param {string} value @param {string} small */
  const set = (id, value, small) => fill($(id), value, " ", h("small", {}, small));
  set("#s1", duration(w.ttft), w.cold ? `against ${duration(w.cold)} cold` : "");
  set("#s2", w.s_per_token ? duration(w.cached * w.s_per_token) : "–", w.s_per_token ? "in 5 min" : "");
  const held = now.live + now.cached;
  const slots = hello?.slots || held + now.free;
  set("#s3", slots ? `${Math.round((100 * held) / slots)} %` : "–", slots ? `${count(held)} of ${count(slots)}` : "");
  set("#s4", state.isDown ? "0" : now.running || now.waiting ? `${now.running} running` : "0", now.waiting ? `${now.waiting} waiting` : "none waiting");
}

/** Teach what the tree will show, with a way to fill it. */
function drawBlank() {
  const ghost = [
    ["system prompt, computed once", "0", "0", "48%", "100%"], ["first question", "48.8%", "0", "40%", "31%"],
    ["second question", "48.8%", "34.5%", "51%", "31%"], ["third", "48.8%", "69%", "26%", "31%"],
  ];
  fill($("#blank"),
    h("div", { class: "ghost", "aria-hidden": "true" }, ghost.map(([text, left, top, width, height]) => h("i", { style: { left, top, width, height } }, text))),
    h("strong", {}, "Nothing is cached yet"),
    h("p", {}, "Send a prompt twice. The second time only its last token is computed, and this picture shows why."),
    h("div", { class: "do" }, h("button", { class: "b p", id: "demo" }, "Try it: 8 questions, one system prompt"), h("span", { class: "cmd" }, 'yaie chat "Hello"')));
}

/** @param {string} message @param {number} retryS */
function lost(message, retryS) {
  $("#st").textContent = `${message}; next try in ${retryS} s`;
  $("#state").dataset.s = "bad";
}

/** @param {string} message */
function refused(message) {
  document.body.classList.remove("loading");
  document.body.classList.add("nokey");
  $("#keys").hidden = false;
  const { key, admin } = keys();
  $("#keynote").textContent = key || admin ? message : "This server needs a key. Keys stay in this tab and are forgotten when it closes.";
  $("#st").textContent = "Key needed";
  $("#state").dataset.s = "wait";
  $("#key").focus();
}

/** Follow a model's feed from now on. @param {string} name */
function connect(name) {
  stop();
  model = name;
  state.nodes.clear();
  state.now = null;
  stop = follow(name, { event: take, lost, refused });
}

function start() {
  const root_ = document.documentElement;
  const kept = localStorage.getItem("yaie-theme");
  root_.dataset.theme = kept || (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
  const nameTheme = () => ($("#theme").textContent = root_.dataset.theme === "light" ? "Dark" : "Light");
  nameTheme();
  $("#theme").onclick = () => {
    root_.dataset.theme = root_.dataset.theme === "light" ? "dark" : "light";
    localStorage.setItem("yaie-theme", root_.dataset.theme);
    nameTheme();
  };
  $("#mode").onchange = (/** @type {any} */ event) => { state.mode = event.target.value; draw(); };
  $("#scale").onchange = (/** @type {any} */ event) => { state.scale = event.target.value; draw(); };
  $("#find").oninput = (/** @type {any} */ event) => { state.found = event.target.value.toLowerCase(); draw(); };
  $("#mask").onclick = () => {
    state.isMasked = !state.isMasked;
    $("#mask").setAttribute("aria-pressed", String(state.isMasked));
    drawHello();
    draw();
    drawExplained();
  };
  $("#pause").onclick = pause;
  $("#keyb").onclick = () => {
    const isShown = $("#keys").hidden;
    $("#keys").hidden = !isShown;
    $("#keyb").setAttribute("aria-expanded", String(isShown));
    if (isShown) $("#key").focus();
  };
  $("#key").value = keys().key;
  $("#admin").value = keys().admin;
  $("#keys").onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    keepKeys($("#key").value.trim(), $("#admin").value.trim());
    $("#keyb").setAttribute("aria-expanded", "false");
    connect(model);
  };
  $("#nav").onclick = (/** @type {any} */ event) => {
    for (const each of $("#nav").children) each.toggleAttribute("aria-current", each === event.target);
    if (event.target.matches("a")) event.target.setAttribute("aria-current", "true");
  };
  addEventListener("keydown", press);
  new ResizeObserver(() => state.now && drawTree()).observe($(".ice"));
  setInterval(() => {
    const silentS = Math.round((Date.now() - heardAt) / 1000);
    if (state.now && !state.isPaused && silentS >= STALE_S && $("#state").dataset.s === "ok") $("#st").textContent = `${silentS} s behind`;
  }, 1000);
  startCharts();
  startChat({ useModel: connect, copy });
  startExplain();
  connect("");
}

function pause() {
  state.isPaused = !state.isPaused;
  $("#pause").textContent = state.isPaused ? "Resume" : "Pause";
  $("#pause").setAttribute("aria-pressed", String(state.isPaused));
  if (!state.isPaused) draw();
}

/** @param {KeyboardEvent} event */
function press(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isInTree = Boolean(target.closest("#ice"));
  if (/INPUT|TEXTAREA|SELECT/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && top() !== root) zoomTo(top().up || root);
  else if (event.key === "/") {
    event.preventDefault();
    $("#find").focus();
  } else if (event.key === " " && target === document.body) {
    event.preventDefault();
    pause();
  } else if (isInTree && moveFocus(event.key)) event.preventDefault();
}

start();
