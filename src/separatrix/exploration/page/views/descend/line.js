// The line of an intercept and a slope over the data, and its sigmoid, at every step of a descent.

import { digits, element, svg } from "../../elements.js";
import { Plane, series } from "../../plane.js";
import { SHAPES } from "../../points.js";
import { unpack } from "../../server.js";

/** Steps after which the curve stays in the picture, thin. */
const MARKED = [10, 100, 1000];
const PLACES = 161;

const sigmoid = (s) => 1 / (1 + Math.exp(-s));

export class LinePicture {
  constructor() {
    this.plane = new Plane({ label: "Line over the data", height: 330, left: 66, right: 24 });
    for (const name of ["dots", "earlier", "score", "curve", "cross"]) this.plane.layer(name);
    this.legend = element("p", { class: "quiet", "data-figure": "curves" });
  }

  /** Rows, and what standardizes their column; losses of classes have them at −1 and 1. */
  set(given, loss) {
    const [across, [low, high]] = given.box;
    const [bottom, top] = loss === "logistic" ? [0, 1] : [low, high];
    const margin = 0.12 * (top - bottom || 1);
    Object.assign(this, { given, loss });
    this.plane.range({
      x: across, y: [bottom - margin, top + margin], xLabel: given.names[0],
      yLabel: loss === "logistic" ? `probability of ${given.names[1]}` : loss === "hinge" ? `score of ${given.names[1]}` : given.names[1],
    });
    const [xs, ys] = [unpack(given.x), unpack(given.y)];
    const size = xs.length > 400 ? 0.5 : 0.8;
    this.plane.layer("dots").replaceChildren(...Array.from(xs, (x, i) => {
      const group = Number(given.classes && ys[i] > (low + high) / 2);
      const y = loss === "logistic" ? group : ys[i];
      return svg("path", {
        class: "dot", d: SHAPES[group], fill: series(group), opacity: 0.6,
        transform: `translate(${this.plane.px(x).toFixed(1)} ${this.plane.py(y).toFixed(1)}) scale(${size})`,
      });
    }));
  }

  /** Intercept and slope in the units of the column after step `at`. */
  #line(points, at) {
    const slope = points[2 * at + 1] / this.given.scale;
    return [points[2 * at] - slope * this.given.mean, slope];
  }

  /** A function of the column as a path; far above and below the picture it is level. */
  #path(f) {
    const [[x0, x1], [y0, y1]] = [this.plane.x, this.plane.y];
    const within = (v) => Math.min(Math.max(v, 2 * y0 - y1), 2 * y1 - y0);
    return this.plane.path(Array.from({ length: PLACES }, (_, i) => {
      const x = x0 + ((x1 - x0) * i) / (PLACES - 1);
      return [x, within(f(x))];
    }));
  }

  /** The curve after step `at`; its figures as [name, text, key]. */
  show(points, at) {
    const logistic = this.loss === "logistic";
    const curve = (t) => {
      const [b, w] = this.#line(points, t);
      return logistic ? (x) => sigmoid(b + w * x) : (x) => b + w * x;
    };
    const [b, w] = this.#line(points, at);
    const earlier = MARKED.filter((t) => t < at);
    const draw = (name, attributes, list) => this.plane.layer(name).replaceChildren(
      ...list.map((f) => svg("path", { ...attributes, d: this.#path(f) })));
    draw("earlier", { class: "thin" }, earlier.map(curve));
    draw("score", { class: "thin dashed" }, logistic ? [(x) => b + w * x] : []);
    draw("curve", { class: "line" }, [curve(at)]);
    const zero = w === 0 ? null : -b / w;
    const crosses = this.loss !== "squares" && zero !== null && zero >= this.plane.x[0] && zero <= this.plane.x[1];
    this.plane.layer("cross").replaceChildren(...(crosses ? [svg("circle", {
      class: "now", r: 6, cx: this.plane.px(zero), cy: this.plane.py(logistic ? 0.5 : 0),
    })] : []));
    const steps = `${at} step${at === 1 ? "" : "s"}`;
    this.legend.textContent = `${logistic ? "Sigmoid" : "Line"} after ${steps}${logistic ? ", its line w x + b dashed" : ""}`
      + `${earlier.length ? `; thin: after ${earlier.join(" and ")} steps` : ""}.`;
    const [column, target] = this.given.names;
    const half = this.loss === "squares" ? "" : ` ${logistic ? "The probability is ½" : "The score is 0"} at ${digits(zero)}.`;
    this.plane.description.textContent = `${target} by ${column} after ${steps}: the line rises by ${digits(w)} a unit.${half}`;
    const figures = [["Slope, in units of the column", digits(w, 5), "slope"], ["Intercept", digits(b, 5), "intercept"]];
    return this.loss === "squares" ? figures : [...figures, [logistic ? "Probability ½ at" : "Score 0 at", digits(zero, 5), "half"]];
  }
}
