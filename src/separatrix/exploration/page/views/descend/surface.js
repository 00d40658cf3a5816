// The surface of a loss as level lines, the way of a descent on it, and a start that can be dragged.

import { contour, contourPath } from "../../contours.js";
import { digits, svg } from "../../elements.js";
import { color, Plane } from "../../plane.js";
import { unpack } from "../../server.js";

const LEVELS = 14;

export class SurfacePicture {
  /** onstart(place, done): the start was moved. */
  constructor({ onstart }) {
    this.plane = new Plane({ label: "Surface of the loss", left: 66, right: 24 });
    for (const name of ["levels", "way", "marks"]) this.plane.layer(name);
    const { svg: host } = this.plane;
    host.setAttribute("tabindex", "0");
    host.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      host.focus({ preventScroll: true });
      host.setPointerCapture(event.pointerId);
      this.dragging = true;
      onstart(this.#round(this.plane.at(event)), false);
    });
    host.addEventListener("pointermove", (event) => { if (this.dragging) onstart(this.#round(this.plane.at(event)), false); });
    for (const end of ["pointerup", "pointercancel"]) {
      host.addEventListener(end, (event) => {
        if (!this.dragging) return;
        this.dragging = false;
        onstart(this.#round(this.plane.at(event)), true);
      });
    }
    host.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!move || !this.start) return;
      event.preventDefault();
      const by = event.shiftKey ? 0.1 : 0.02;
      const span = [this.plane.x[1] - this.plane.x[0], this.plane.y[1] - this.plane.y[0]];
      onstart(this.#round(this.start.map((v, i) => v + by * move[i] * span[i])), true);
    });
  }

  #round(place) { return place.map((v) => Number(v.toPrecision(5))); }

  /** A new surface. */
  set(given) {
    const [across, up] = given.box;
    const [columns, rows] = given.grid;
    const values = unpack(given.values);
    this.best = given.best;
    this.plane.range({ x: across, y: up, xLabel: given.names[0], yLabel: given.names[1] });
    const low = Math.min(...values, given.least ?? Infinity);
    const high = Math.max(...values);
    const floor = (high - low) * 2e-4;
    const depth = (v) => Math.log((v - low + floor) / floor) / Math.log((high - low + floor) / floor);
    const tint = color("--accent");
    this.plane.shade(columns, rows, (i) => [...tint, Math.round(150 * (1 - depth(values[i])))]);
    const of = ([a, b], n) => Array.from({ length: n }, (_, i) => a + ((b - a) * i) / (n - 1));
    const [xs, ys] = [of(across, columns), of(up, rows)];
    this.plane.layer("levels").replaceChildren(...Array.from({ length: LEVELS }, (_, k) => {
      const level = low - floor + floor * ((high - low + floor) / floor) ** ((k + 1) / (LEVELS + 1));
      return svg("path", { class: "level-line", d: contourPath(this.plane, contour(values, xs, ys, level)) });
    }));
  }

  /** The way up to step `at`. */
  way(points, at) {
    const place = (i) => [points[2 * i], points[2 * i + 1]];
    const n = points.length / 2;
    this.start = place(0);
    const shown = Array.from({ length: Math.min(at, n - 1) + 1 }, (_, i) => place(i));
    const dot = ([x, y], attributes) => svg("circle", { cx: this.plane.px(x).toFixed(2), cy: this.plane.py(y).toFixed(2), ...attributes });
    this.plane.layer("way").replaceChildren(
      svg("path", { class: "way", d: this.plane.path(shown) }),
      ...shown.slice(1, 400).map((p) => dot(p, { class: "foot", r: 2.4 })));
    const marks = [dot(this.start, { class: "start", r: 8, "data-start": "" }), dot(shown[shown.length - 1], { class: "head", r: 5 })];
    if (this.best) {
      const [x, y] = [this.plane.px(this.best[0]), this.plane.py(this.best[1])];
      marks.unshift(svg("path", { class: "best", d: `M${x - 7} ${y}H${x + 7}M${x} ${y - 7}V${y + 7}` }));
    }
    this.plane.layer("marks").replaceChildren(...marks);
    this.plane.description.textContent = `Descent from ${this.start.map((v) => digits(v)).join(", ")}; after ${shown.length - 1} steps at ${shown[shown.length - 1].map((v) => digits(v)).join(", ")}.`
      + (this.best ? ` The minimum is at ${this.best.map((v) => digits(v)).join(", ")}.` : " There is no minimum: the classes are separable.");
  }
}

/** The loss above its minimum against the step, logarithmic. */
export class Fall {
  constructor() { this.plane = new Plane({ label: "Loss by step", height: 210, left: 66, right: 24 }); }

  show(values, least, at) {
    const floor = least ?? Math.min(...values);
    const above = Array.from(values, (v) => Math.log10(Math.max(v - floor, 1e-16 * Math.max(Math.abs(floor), 1e-300))));
    const low = Math.max(Math.min(...above), Math.max(...above) - 14);
    const high = Math.max(...above, low + 0.5);
    const power = [];
    for (let p = Math.ceil(low); p <= high; p += Math.max(1, Math.round((high - low) / 6))) power.push([p, `10${[...String(p)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`]);
    this.plane.range({
      x: [0, Math.max(values.length - 1, 1)], y: [low - 0.2, high + 0.2], xLabel: "step",
      yLabel: least === null ? "loss − lowest" : "loss − minimum", yTicks: power,
    });
    const clipped = above.map((v, i) => [i, Math.max(v, low - 0.15)]);
    this.plane.layer("curve").replaceChildren(
      svg("path", { class: "line", d: this.plane.path(clipped) }),
      svg("circle", { class: "now", r: 6, cx: this.plane.px(at), cy: this.plane.py(clipped[at][1]) }));
    this.plane.description.textContent = `The loss goes from ${digits(values[0])} to ${digits(values[values.length - 1])} in ${values.length - 1} steps.`;
  }
}
