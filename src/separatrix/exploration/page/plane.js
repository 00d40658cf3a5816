// A picture with two axes: an SVG, and a canvas of colors behind it.

import { digits, element, short, svg } from "./elements.js";

let count = 0;

/** Round places of an axis. */
export function ticks(low, high, most = 6) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = power * [1, 2, 5, 10].find((s) => span / (s * power) <= most);
  const marks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i += 1) marks.push(i * step);
  return marks.map((v) => (Math.abs(v) < step * 1e-9 ? 0 : Number(v.toPrecision(12))));
}

/** The text of a tick, or its lines. */
function written(text, x, y, anchor) {
  const lines = [text].flat();
  return svg("text", { x, y, "text-anchor": anchor }, ...(lines.length < 2 ? lines : lines.map((line, i) => svg("tspan", { x, dy: i ? "1.1em" : 0 }, line))));
}

export class Plane {
  /** label: what a screen reader calls the picture; size in units of the SVG. */
  constructor({ label, width = 640, height = 480, left = 56, right = 12, top = 12, bottom = 46 }) {
    Object.assign(this, { width, height, left, right, top, bottom });
    const id = `plane-${++count}`;
    this.title = svg("title", { id: `${id}-title` }, label);
    this.description = svg("desc", { id: `${id}-description` });
    this.axes = svg("g", { class: "axes", "aria-hidden": "true" });
    this.inside = svg("g", { "clip-path": `url(#${id}-clip)` });
    const inner = { x: left, y: top, width: width - left - right, height: height - top - bottom };
    this.svg = svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": `${id}-title ${id}-description` },
      this.title, this.description,
      svg("defs", {}, svg("clipPath", { id: `${id}-clip` }, svg("rect", inner))),
      this.axes, this.inside,
      svg("rect", { class: "frame", ...inner }),
    );
    this.canvas = element("canvas", { "aria-hidden": "true" });
    const percent = (part, whole) => `${(100 * part) / whole}%`;
    Object.assign(this.canvas.style, {
      left: percent(left, width), top: percent(top, height),
      width: percent(inner.width, width), height: percent(inner.height, height),
    });
    this.node = element("div", { class: "plane" }, this.canvas, this.svg);
    // a picture shrinks with the screen, its letters no further than they can be read
    new ResizeObserver(() => {
      const shrunk = (0.9 * width) / (this.svg.clientWidth || width);
      this.svg.style.setProperty("--letters", Math.min(1.5, Math.max(1, shrunk)).toFixed(2));
    }).observe(this.svg);
    this.layers = new Map();
    this.range({ x: [0, 1], y: [0, 1] });
  }

  /** Ranges and names of the axes; `ticks` of an axis may be given as [value, text] pairs. */
  range({ x, y, xLabel = "", yLabel = "", xTicks, yTicks }) {
    this.x = x;
    this.y = y;
    const shown = JSON.stringify([x, y, xLabel, yLabel, xTicks, yTicks]);
    if (shown === this.shown) return; // axes stay while a hand moves what is inside of them
    this.shown = shown;
    const pairs = (given, [low, high], most) => given ?? ticks(low, high, most).map((v) => [v, digits(v)]);
    const bottom = this.height - this.bottom;
    const marks = [
      ...pairs(xTicks, x, 7).map(([v, text]) => svg("g", { class: "tick" },
        svg("line", { class: "grid", x1: this.px(v), x2: this.px(v), y1: this.top, y2: bottom }),
        written(text, this.px(v), bottom + 16, "middle"))),
      ...pairs(yTicks, y, 6).map(([v, text]) => svg("g", { class: "tick" },
        svg("line", { class: "grid", x1: this.left, x2: this.width - this.right, y1: this.py(v), y2: this.py(v) }),
        written(text, this.left - 6, this.py(v) + 4 - (Array.isArray(text) ? 6 * (text.length - 1) : 0), "end"))),
    ];
    const middle = (this.top + bottom) / 2;
    this.axes.replaceChildren(
      ...marks,
      svg("text", { x: (this.left + this.width - this.right) / 2, y: this.height - 8, "text-anchor": "middle" }, short(xLabel, (this.width - this.left) / 6.5)),
      svg("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, short(yLabel, (bottom - this.top) / 6.5)),
    );
  }

  px(v) { return this.left + ((v - this.x[0]) / (this.x[1] - this.x[0])) * (this.width - this.left - this.right); }
  py(v) { return this.height - this.bottom - ((v - this.y[0]) / (this.y[1] - this.y[0])) * (this.height - this.top - this.bottom); }

  /** Place of a pointer in the units of the axes. */
  at(event) {
    const box = this.svg.getBoundingClientRect();
    const u = ((event.clientX - box.left) / box.width) * this.width;
    const v = ((event.clientY - box.top) / box.height) * this.height;
    return [
      this.x[0] + ((u - this.left) / (this.width - this.left - this.right)) * (this.x[1] - this.x[0]),
      this.y[0] + ((this.height - this.bottom - v) / (this.height - this.top - this.bottom)) * (this.y[1] - this.y[0]),
    ];
  }

  /** A group inside of the axes, made at the first call; later ones lie above earlier ones. */
  layer(name, attributes = {}) {
    if (!this.layers.has(name)) {
      const group = svg("g", { "data-layer": name, ...attributes });
      this.layers.set(name, group);
      this.inside.append(group);
    }
    return this.layers.get(name);
  }

  /** A line through [x, y] pairs, as the d of a path. Breaks where a place is not finite. */
  path(places) {
    let pen = "M";
    let text = "";
    for (const [x, y] of places) {
      if (!Number.isFinite(x) || !Number.isFinite(y)) { pen = "M"; continue; }
      text += `${pen}${this.px(x).toFixed(2)} ${this.py(y).toFixed(2)}`;
      pen = "L";
    }
    return text;
  }

  /**
   * Colors behind the axes. `color(i)` gives [r, g, b, a] of cell i of a grid of `columns` × `rows`,
   * row by row from the lowest y.
   */
  shade(columns, rows, color) {
    const context = this.canvas.getContext("2d");
    if (this.canvas.width !== columns || this.canvas.height !== rows || !this.image) {
      this.canvas.width = columns;
      this.canvas.height = rows;
      this.image = context.createImageData(columns, rows);
    }
    const { image } = this;
    for (let r = 0; r < rows; r += 1) {
      for (let c = 0; c < columns; c += 1) {
        image.data.set(color(r * columns + c), 4 * ((rows - 1 - r) * columns + c));
      }
    }
    context.putImageData(image, 0, 0);
  }

  clear() {
    this.canvas.width = this.canvas.width;
    this.image = null;
  }
}

const colors = new Map();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => colors.clear());

/** The color of a CSS variable as [r, g, b], in the theme that is shown; computed once a theme. */
export function color(name) {
  if (!colors.has(name)) {
    const probe = element("span", { hidden: true });
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    colors.set(name, getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number));
    probe.remove();
  }
  return colors.get(name);
}

export const series = (i) => `var(--series-${(i % 6) + 1})`;
