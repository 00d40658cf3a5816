// The tree of merges and the line that cuts it. Everything follows the line without the server:
// a merge is made if no merge of its branch is higher than the line, as Dendrogram.cut(level=…) has it.

import { digits, svg } from "../../elements.js";
import { Plane } from "../../plane.js";
import { paint } from "./dots.js";

const COLORS = 6;

export class Dendrogram {
  /** onlevel(level, done): the line was moved; while it is dragged, done is false. */
  constructor({ onlevel }) {
    this.plane = new Plane({ label: "Dendrogram", width: 460, height: 290, bottom: 26 });
    this.onlevel = onlevel;
    this.branches = Array.from({ length: COLORS + 1 }, (_, i) =>
      svg("path", { class: "branch", stroke: i < COLORS ? paint(i) : "var(--muted)" }));
    this.plane.layer("branches").append(...this.branches);
    this.line = svg("line", { class: "cut" });
    this.handle = svg("g", {
      class: "handle", tabindex: "0", role: "slider", "aria-orientation": "vertical", "aria-label": "Height of the cut",
    }, this.line, svg("line", { class: "grip" }));
    this.plane.layer("cut").append(this.handle);
    const { svg: host } = this.plane;
    host.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      host.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.handle.focus({ preventScroll: true });
      this.#follow(event, false);
    });
    host.addEventListener("pointermove", (event) => { if (this.dragging) this.#follow(event, false); });
    for (const end of ["pointerup", "pointercancel"]) {
      host.addEventListener(end, (event) => {
        if (!this.dragging) return;
        this.dragging = false;
        this.#follow(event, true);
      });
    }
    this.handle.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.onlevel(this.between(this.count(this.level) + step), true);
    });
  }

  #follow(event, done) {
    const [, y] = this.plane.at(event);
    this.onlevel(Number(Math.min(Math.max(y, 0), this.plane.y[1]).toPrecision(6)), done);
  }

  /** A new tree: nodes of its merges, their heights, and the place of the first leaf of each node. */
  set({ left, right, heights, tops, first, inversions }) {
    const n = left.length + 1;
    Object.assign(this, { n, left, right, tops, inversions });
    const size = new Int32Array(2 * n - 1).fill(1);
    const x = new Float64Array(2 * n - 1);
    const y = new Float64Array(2 * n - 1);
    for (let i = 0; i < n; i += 1) x[i] = first[i];
    this.highest = Math.max(...heights, 0) || 1;
    this.plane.range({ x: [-0.5, n - 0.5], y: [0, 1.05 * this.highest], xTicks: [], xLabel: `${n} rows`, yLabel: "height of the merge" });
    this.segments = new Array(n - 1);
    for (let s = 0; s < n - 1; s += 1) {
      const [a, b, node] = [left[s], right[s], n + s];
      size[node] = size[a] + size[b];
      x[node] = (x[a] + x[b]) / 2;
      y[node] = heights[s];
      const [px, py] = [(v) => this.plane.px(v).toFixed(1), (v) => this.plane.py(v).toFixed(1)];
      this.segments[s] = `M${px(x[a])} ${py(y[a])}V${py(y[node])}H${px(x[b])}V${py(y[b])}`;
    }
    // Colors that stay while the line moves: of a split the larger branch has the color of both.
    this.order = Array.from(tops.keys()).sort((p, q) => tops[q] - tops[p] || q - p);
    this.hue = new Int32Array(2 * n - 1);
    this.order.forEach((s, i) => {
      const [a, b] = size[left[s]] >= size[right[s]] ? [left[s], right[s]] : [right[s], left[s]];
      this.hue[a] = this.hue[n + s];
      this.hue[b] = i + 1;
    });
  }

  /** Number of groups at a height. */
  count(level) {
    let k = 1;
    for (const top of this.tops) k += top > level;
    return k;
  }

  /** A height that leaves k groups, halfway between two merges. */
  between(k) {
    const at = Math.min(Math.max(k, 1), this.n);
    const high = at > 1 ? this.tops[this.order[at - 2]] : 1.04 * this.highest;
    const low = at <= this.n - 1 ? this.tops[this.order[at - 1]] : 0;
    return Number(((low + Math.max(high, low)) / 2).toPrecision(6));
  }

  /** Draw the cut; the group of every row. */
  cut(level) {
    const { n, left, right, tops, hue } = this;
    const group = new Int32Array(2 * n - 1).fill(-1);
    const parts = this.branches.map(() => []);
    for (const s of this.order) {
      const node = n + s;
      if (tops[s] <= level && group[node] < 0) group[node] = hue[node];
      for (const child of [left[s], right[s]]) {
        if (group[node] >= 0) group[child] = group[node];
        else if (child < n) group[child] = hue[child];
      }
      parts[group[node] < 0 ? COLORS : group[node] % COLORS].push(this.segments[s]);
    }
    this.branches.forEach((path, i) => path.setAttribute("d", parts[i].join("")));
    this.level = level;
    const [y, right_] = [this.plane.py(level), this.plane.width - this.plane.right];
    for (const line of this.handle.children) {
      for (const [name, value] of Object.entries({ x1: this.plane.left, x2: right_, y1: y, y2: y })) line.setAttribute(name, value);
    }
    const k = this.count(level);
    this.handle.setAttribute("aria-valuenow", level);
    this.handle.setAttribute("aria-valuemin", 0);
    this.handle.setAttribute("aria-valuemax", this.highest);
    this.handle.setAttribute("aria-valuetext", `${digits(level)}: ${k} group${k === 1 ? "" : "s"}`);
    this.plane.description.textContent = `${n} rows merge at heights up to ${digits(this.highest)}; cut at ${digits(level)} there are ${k} groups.`;
    return group.subarray(0, n);
  }
}
