// A perceptron's line after each update; the point of the mistake that moved it is ringed.

import { digits, svg } from "../../elements.js";
import { Plane, series } from "../../plane.js";
import { SHAPES } from "../../points.js";
import { unpack } from "../../server.js";

export class PerceptronPicture {
  constructor() {
    this.plane = new Plane({ label: "Perceptron", left: 66 });
    for (const name of ["before", "line", "dots", "ring"]) this.plane.layer(name);
  }

  set(given) {
    Object.assign(this, { given, places: unpack(given.places), classes: unpack(given.classes), weights: unpack(given.weights), wrong: unpack(given.wrong), epochs: unpack(given.epochs) });
    this.plane.range({ x: given.box[0], y: given.box[1], xLabel: given.names[0], yLabel: given.names[1] });
    this.plane.layer("dots").replaceChildren(...Array.from(this.classes, (c, i) => svg("path", {
      class: "dot", d: SHAPES[c], fill: series(c), transform: `translate(${this.plane.px(this.places[2 * i]).toFixed(1)} ${this.plane.py(this.places[2 * i + 1]).toFixed(1)})`,
    })));
  }

  /** Ends of the line w·x + b = 0 within the picture. */
  #line(t) {
    const [b, u, v] = this.weights.slice(3 * t, 3 * t + 3);
    const [[x0, x1], [y0, y1]] = this.given.box;
    const steep = Math.abs(u) * (x1 - x0) > Math.abs(v) * (y1 - y0);
    if (!u && !v) return [];
    return steep ? [[-(b + v * y0) / u, y0], [-(b + v * y1) / u, y1]] : [[x0, -(b + u * x0) / v], [x1, -(b + u * x1) / v]];
  }

  /** The line after `t` updates, the one before, and the mistake between them. */
  show(t) {
    const draw = (name, attributes, at) => this.plane.layer(name).replaceChildren(
      ...(at < 0 ? [] : [svg("path", { ...attributes, d: this.plane.path(this.#line(at)) })]));
    draw("before", { class: "thin dashed" }, t - 1);
    draw("line", { class: "line" }, t);
    const row = t > 0 ? this.wrong[t - 1] : -1;
    this.plane.layer("ring").replaceChildren(...(row < 0 ? [] : [svg("circle", {
      class: "mistake", r: 10, "data-mistake": row, cx: this.plane.px(this.places[2 * row]), cy: this.plane.py(this.places[2 * row + 1]),
    })]));
    this.plane.description.textContent = t
      ? `After ${t} of ${this.wrong.length} updates, in epoch ${this.epochs[t - 1]}; the last mistake was row ${row + 1} at ${digits(this.places[2 * row])}, ${digits(this.places[2 * row + 1])}.`
      : "Before the first update there is no line.";
  }
}
