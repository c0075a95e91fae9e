// @ts-check
/** Five charts of five minutes with one crosshair; each has its value in text. */
import { $, count, duration, fill, h, percent, svg } from "./dom.js";
import { state } from "./state.js";

/** @typedef {(number | null)[]} Column */
/** @type {Record<string, Column>} */
const columns = { hit: [], ttft: [], cold: [], itl: [], queue: [], pool: [], evicted: [] };
const HEIGHT = 34;
/** @type {number | null} */
let pointed = null;

/** @typedef {{name: string, title: string, colour: string, low: number, high: () => number, of: (value: number) => number, show: (value: number | null) => string, unit: () => string}} Chart */
/** @type {Chart[]} */
const charts = [
  { name: "hit", title: "Prompt tokens cached", colour: "cached", low: 0, high: () => 1, of: (v) => v, show: percent, unit: () => "" },
  {
    name: "ttft", title: "First token, p50", colour: "cached", low: 0, high: () => 5, of: (v) => Math.log10(Math.max(1, 1000 * v)), show: duration,
    unit: () => (state.now?.window.cold ? `· ${duration(state.now.window.cold)} cold` : "cached"),
  },
  { name: "itl", title: "Between tokens, p50", colour: "text", low: 0, high: () => most("itl", 0.02), of: (v) => v, show: duration, unit: () => "" },
  { name: "queue", title: "Waiting", colour: "text", low: 0, high: () => most("queue", 4), of: (v) => v, show: (v) => (v === null ? "–" : count(v)), unit: () => "requests" },
  {
    name: "pool", title: "Pool in use", colour: "cached", low: 0, high: () => 1, of: (v) => v, show: percent,
    unit: () => (state.now?.window.evicted ? `${count(state.now.window.evicted)} evicted` : "none evicted"),
  },
];

/** @param {string} name @param {number} least */
const most = (name, least) => Math.max(least, ...columns[name].map((value) => value || 0)) * 1.2;

/** Take the columns of the server's last minutes. @param {Record<string, Column>} series */
export function takeSeries(series) {
  for (const name of Object.keys(columns)) columns[name] = [...(series[name] || [])];
}

/** @param {Record<string, number | null>} point */
export function takePoint(point) {
  for (const name of Object.keys(columns)) {
    columns[name].push(point[name] ?? null);
    if (columns[name].length > state.hello.length) columns[name].shift();
  }
}

/** The value of now, from the window of five minutes or of this moment. @param {string} name */
function current(name) {
  const { now } = state;
  if (!now) return null;
  if (name === "queue") return now.waiting;
  if (name === "pool") return (now.live + now.cached) / (now.live + now.cached + now.free || 1);
  return now.window[name] ?? null;
}

/** Draw all charts. */
export function drawCharts() {
  const length = state.hello?.length || 75;
  fill($("#cs"), charts.map((chart) => draw(chart, length)));
}

/** @param {Chart} chart @param {number} length */
function draw(chart, length) {
  const column = columns[chart.name];
  const missing = length - column.length;
  /** @param {number} at */
  const x = (at) => ((at + missing) / (length - 1)) * 200;
  /** @param {number} value */
  const y = (value) => 36 - ((chart.of(value) - chart.low) / (chart.high() - chart.low)) * HEIGHT;
  const at = pointed === null ? null : pointed - missing;
  const value = at === null ? current(chart.name) : column[at] ?? null;
  const picture = svg("svg", { viewBox: "0 0 200 38", preserveAspectRatio: "none", "aria-hidden": "true" });
  /** @param {string} d @param {Record<string, string | number>} props */
  const line = (d, props) => picture.append(svg("path", { d, fill: "none", "stroke-width": 1.5, "vector-effect": "non-scaling-stroke", ...props }));
  line("M0 36.5H200", { stroke: "var(--line2)", "stroke-width": 1 });
  const path = pathOf(column, x, y);
  if (path) {
    const area = areaOf(column, x, y);
    picture.append(svg("path", { d: area, fill: `var(--${chart.colour})`, opacity: 0.1 }));
    line(path, { stroke: chart.colour === "cached" ? "var(--cached)" : "var(--mute)" });
  }
  if (chart.name === "ttft") line(pathOf(columns.cold, x, y) || "M0 0", { stroke: "var(--warn)", "stroke-dasharray": "3 2.5" });
  if (chart.name === "pool") {
    const highest = Math.max(1, ...columns.evicted.map((each) => each || 0));
    columns.evicted.forEach((each, place) => {
      if (each) line(`M${x(place).toFixed(1)} 36v${(-4 - (12 * each) / highest).toFixed(1)}`, { stroke: "var(--warn)" });
    });
  }
  if (pointed !== null) line(`M${((pointed / (length - 1)) * 200).toFixed(1)} 0V36`, { stroke: "var(--text)", "stroke-width": 1 });
  const minutes = pointed === null ? "−5 min" : `−${(((length - 1 - pointed) * state.hello.step_s) / 60).toFixed(1)} min`;
  return h("figure", { class: "c" },
    h("h3", {}, chart.title),
    h("div", { class: "v" }, chart.show(value), " ", h("small", {}, value === null || pointed !== null ? "" : chart.unit())),
    picture,
    h("div", { class: "ft", "aria-hidden": "true" }, h("span", {}, minutes), h("span", {}, "now")));
}

/** A line through known values; a gap stays a gap, one value alone is a dot. @param {Column} column @param {(at: number) => number} x @param {(value: number) => number} y */
function pathOf(column, x, y) {
  let path = "";
  column.forEach((value, at) => {
    if (value === null) return;
    const isFirst = at === 0 || column[at - 1] === null;
    path += `${isFirst ? "M" : "L"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    if (isFirst && (column[at + 1] ?? null) === null) path += "h1.5";
  });
  return path;
}

/** @param {Column} column @param {(at: number) => number} x @param {(value: number) => number} y */
function areaOf(column, x, y) {
  let area = "";
  let from = -1;
  for (let at = 0; at <= column.length; at++) {
    const isKnown = at < column.length && column[at] !== null;
    if (isKnown && from < 0) from = at;
    if (!isKnown && from >= 0) {
      const points = column.slice(from, at).map((value, place) => `L${x(from + place).toFixed(1)} ${y(Number(value)).toFixed(1)}`);
      area += `M${x(from).toFixed(1)} 36.5${points.join("")}L${x(at - 1).toFixed(1)} 36.5Z`;
      from = -1;
    }
  }
  return area;
}

/** Let the crosshair follow the pointer. */
export function startCharts() {
  const box = $("#cs");
  box.addEventListener("mousemove", (/** @type {MouseEvent} */ event) => {
    const picture = /** @type {Element} */ (event.target).closest(".c")?.querySelector("svg");
    if (!picture || !state.hello) return;
    const at = picture.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - at.left) / at.width));
    pointed = Math.round(share * (state.hello.length - 1));
    drawCharts();
  });
  box.addEventListener("mouseleave", () => {
    pointed = null;
    drawCharts();
  });
}
