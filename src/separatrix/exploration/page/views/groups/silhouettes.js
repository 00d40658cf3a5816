// Silhouettes of all points, sorted within their groups, and their mean.

import { digits, svg } from "../../elements.js";
import { Plane } from "../../plane.js";
import { unpack } from "../../server.js";
import { paint } from "./dots.js";

export class Silhouettes {
  constructor() {
    this.plane = new Plane({ label: "Silhouettes", width: 460, height: 290, left: 34 });
  }

  /** `widths` of the server (null: fewer than two groups); hue(row): the color's number of a row. */
  show(widths, hue) {
    const bars = this.plane.layer("bars");
    const mean = this.plane.layer("mean");
    if (!widths) {
      bars.replaceChildren();
      mean.replaceChildren();
      this.plane.range({ x: [0, 1], y: [0, 1], yTicks: [], xLabel: "silhouette: needs two groups" });
      this.plane.description.textContent = "A silhouette needs two groups, and fewer than points.";
      return;
    }
    const [rows, labels, values] = [widths.rows, widths.labels, widths.values].map(unpack);
    const n = rows.length;
    const low = Math.min(-0.1, ...values);
    const names = [];
    const nodes = [];
    this.plane.range({ x: [low, 1], y: [0, n], yTicks: [], xLabel: "silhouette (b − a) / max(a, b)" });
    const [px, py] = [(v) => this.plane.px(v).toFixed(1), (v) => this.plane.py(v).toFixed(1)];
    for (let a = 0; a < n;) {
      let b = a;
      let d = `M${px(0)} ${py(n - a)}`;
      for (; b < n && labels[b] === labels[a]; b += 1) d += `H${px(values[b])}V${py(n - b - 1)}`;
      nodes.push(svg("path", { class: "bar", d: `${d}H${px(0)}Z`, fill: paint(hue(rows[a])) }));
      if (b - a > 0.03 * n) names.push([n - (a + b) / 2, `${b - a}`]);
      a = b;
    }
    this.plane.range({ x: [low, 1], y: [0, n], yTicks: names, xLabel: "silhouette (b − a) / max(a, b)" });
    bars.replaceChildren(...nodes);
    mean.replaceChildren(svg("path", { class: "line dashed", d: this.plane.path([[widths.mean, 0], [widths.mean, n]]) }));
    this.plane.description.textContent = `Mean silhouette ${digits(widths.mean)} in ${nodes.length} groups; sizes are written beside them.`;
  }
}
