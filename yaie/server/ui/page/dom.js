// @ts-check
/** Elements without markup: text from prompts and models only ever becomes text nodes. */

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */

/**
 * Return the element that a selector finds.
 * @param {string} selector
 * @returns {any}
 */
export const $ = (selector) => document.querySelector(selector);

/**
 * Make an element. `style` is set through the object model, which the page's policy allows.
 * @param {string} tag
 * @param {Record<string, any>} [props] attributes; functions are listeners
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name === "style") Object.assign(made.style, value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...flat(children));
  return made;
}

/**
 * Replace an element's content.
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren(...flat(children));
}

/** @type {WeakMap<Element, string>} */
const written = new WeakMap();

/**
 * Replace an element's content if what it shows has changed: a new node costs style and layout.
 * @param {Element} parent
 * @param {string} key everything that the content depends on
 * @param {() => Child} make
 */
export function write(parent, key, make) {
  if (written.get(parent) === key) return;
  written.set(parent, key);
  fill(parent, make());
}

/**
 * Replace an element's content, keeping every node that stays: only changed text is laid out again.
 * Kept elements keep their listeners, so the content must have none.
 * @param {Element} parent
 * @param {...Child} children
 */
export function patch(parent, ...children) {
  reuse(parent, flat(children));
}

/** @param {Element} parent @param {(Node | string)[]} made */
function reuse(parent, made) {
  const known = [...parent.childNodes];
  if (known.length !== made.length) return parent.replaceChildren(...made);
  made.forEach((child, at) => {
    const old = known[at];
    if (old instanceof Text && !(child instanceof HTMLElement)) {
      const text = child instanceof Node ? child.textContent || "" : child;
      if (old.data !== text) old.data = text;
    } else if (
      old instanceof HTMLElement && child instanceof HTMLElement && old.tagName === child.tagName &&
      old.className === child.className && old.style.cssText === child.style.cssText
    ) reuse(old, [...child.childNodes]);
    else parent.replaceChild(child instanceof Node ? child : new Text(child), old);
  });
}

/** @param {Child[]} children @returns {(Node | string)[]} */
function flat(children) {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false) return [];
    if (Array.isArray(child)) return flat(child);
    return [child instanceof Node ? child : String(child)];
  });
}

/**
 * Make a shape of a picture.
 * @param {string} tag
 * @param {Record<string, string | number>} props
 */
export function svg(tag, props) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) made.setAttribute(name, String(value));
  return made;
}

const whole = new Intl.NumberFormat("en-US");

/** @param {number} value */
export const count = (value) => whole.format(Math.round(value));

/** A large count in few digits. @param {number} value */
export function short(value) {
  if (value >= 1e9) return `${(value / 1e9).toFixed(2)} G`;
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  return value >= 1e5 ? `${Math.round(value / 1e3)} k` : count(value);
}

/** @param {number | null | undefined} share */
export const percent = (share) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(1)} %`);

/** @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3600);
  return `${hours} h ${Math.round((seconds - 3600 * hours) / 60)} min`;
}

/** @param {number} unixTime seconds */
export function ago(unixTime) {
  if (!unixTime) return "long ago";
  const seconds = Date.now() / 1000 - unixTime;
  if (seconds < 2) return "now";
  if (seconds < 60) return `${Math.round(seconds)} s ago`;
  return seconds < 3600 ? `${Math.round(seconds / 60)} min ago` : `${(seconds / 3600).toFixed(1)} h ago`;
}

/** @param {number} bytes */
export function size(bytes) {
  const [unit, name] = bytes >= 2 ** 30 ? [2 ** 30, "GiB"] : bytes >= 2 ** 20 ? [2 ** 20, "MiB"] : [2 ** 10, "KiB"];
  return `${(bytes / Number(unit)).toFixed(1)} ${name}`;
}

/** Copy text, and say so. @param {string} text @param {string} what */
export async function copy(text, what) {
  const note = $("#copied");
  try {
    await navigator.clipboard.writeText(text);
    note.textContent = `${what} copied`;
  } catch {
    note.textContent = "The browser refused to copy";
  }
  note.hidden = false;
  setTimeout(() => (note.hidden = true), 2000);
}
