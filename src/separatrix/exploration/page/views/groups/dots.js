// Points in the colors of their groups, spokes to their centers, and cells of the nearest center.

import { svg } from "../../elements.js";
import { color, series } from "../../plane.js";
import { SHAPES } from "../../points.js";

/** Color and shape of a group: 36 differ. */
export const paint = (group) => series(group);
export const shape = (group) => SHAPES[(group + Math.floor(group / 6)) % SHAPES.length];

export class Dots {
  constructor(plane) {
    this.plane = plane;
    this.spokes = plane.layer("spokes", { "aria-hidden": "true" });
    this.group = plane.layer("dots");
    this.nodes = [];
    this.groups = [];
    // measuring colors lays the page out: once a theme
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.tints = null; });
  }

  /** Places as one array x, y, x, y, …; nodes are made anew where their number changes. */
  place(places) {
    const n = places.length / 2;
    if (this.nodes.length !== n) {
      this.nodes = Array.from({ length: n }, (_, i) => svg("path", { class: "dot", "data-row": i }));
      this.group.replaceChildren(...this.nodes);
    }
    this.groups = new Array(n).fill(-1);
    this.places = places;
    this.x = Array.from({ length: n }, (_, i) => this.plane.px(places[2 * i]).toFixed(1));
    this.y = Array.from({ length: n }, (_, i) => this.plane.py(places[2 * i + 1]).toFixed(1));
    this.nodes.forEach((node, i) => node.setAttribute("transform", `translate(${this.x[i]} ${this.y[i]})`));
  }

  /** Groups of the points; only nodes whose group changed are touched. */
  recolor(groups) {
    for (let i = 0; i < this.nodes.length; i += 1) {
      if (this.groups[i] === groups[i]) continue;
      this.groups[i] = groups[i];
      this.nodes[i].setAttribute("fill", paint(groups[i]));
      this.nodes[i].setAttribute("d", shape(groups[i]));
    }
  }

  /** A line from every point to its center [[x, y], …]; none where there are no centers. */
  spoke(centers) {
    const lines = centers.map(() => []);
    const at = centers.map(([x, y]) => `L${this.plane.px(x).toFixed(1)} ${this.plane.py(y).toFixed(1)}`);
    this.groups.forEach((g, i) => lines[g]?.push(`M${this.x[i]} ${this.y[i]}${at[g]}`));
    while (this.spokes.childNodes.length > centers.length) this.spokes.lastChild.remove();
    while (this.spokes.childNodes.length < centers.length) this.spokes.append(svg("path", { class: "spoke" }));
    lines.forEach((parts, g) => {
      this.spokes.childNodes[g].setAttribute("d", parts.join(""));
      this.spokes.childNodes[g].setAttribute("stroke", paint(g));
    });
  }

  /** Color cells by the nearest center, distances divided by `scale`. */
  cells(centers, [sx, sy], columns = 96, rows = 60) {
    const { x, y } = this.plane;
    const of = (i, n, [low, high]) => low + ((high - low) * i) / (n - 1);
    this.shade(columns, rows, (i) => {
      const u = of(i % columns, columns, x);
      const v = of(Math.floor(i / columns), rows, y);
      let best = 0;
      let least = Infinity;
      centers.forEach(([a, b], j) => {
        const d = ((u - a) / sx) ** 2 + ((v - b) / sy) ** 2;
        if (d < least) [least, best] = [d, j];
      });
      return best;
    });
  }

  /** Color cells by the group that `group(i)` gives. */
  shade(columns, rows, group) {
    const tints = this.tints ??= Array.from({ length: 6 }, (_, i) => [...color(`--series-${i + 1}`), 34]);
    this.plane.shade(columns, rows, (i) => tints[group(i) % 6]);
  }
}
