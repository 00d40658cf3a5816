// Points of a plane that can be dragged, added, relabeled and deleted, by mouse and by keyboard.
// Every change becomes an edit (edits.py): ["move", row, x, y], ["add", x, y, value],
// ["label", row, value], ["delete", row]; the view holds the list, so that undo drops the last one.

import { digits, element, svg } from "./elements.js";
import { series } from "./plane.js";

/** Points and rings above so many are drawn smaller and fainter, so that the picture stays readable. */
const MANY = 400;

export const SHAPES = [
  "M0-4.6A4.6 4.6 0 1 1 0 4.6A4.6 4.6 0 1 1 0-4.6Z", "M-4.2-4.2H4.2V4.2H-4.2Z",
  "M0-5.2L5 3.8H-5Z", "M0-5.6L5.2 0L0 5.6L-5.2 0Z", "M-5-3.8H5L0 5.2Z",
  "M-1.7-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z",
];

export const KEYS =
  "With the picture focused: N and P go from point to point, arrows move it, F changes its class, "
  + "Delete removes it, A adds one, Ctrl+Z undoes.";

export class Points {
  /**
   * onedit(edit, done): a new edit; while a point is dragged, done is false and the edit replaces
   * the one before. onundo(): drop the last edit. value(place): the class or target of a new point;
   * flip(point): its next class, or null where the target is a number.
   */
  constructor(plane, { onedit, onundo, onpick, value, flip }) {
    Object.assign(this, { plane, onedit, onundo, onpick, value, flip });
    this.group = plane.layer("points");
    this.mark = svg("circle", { class: "cursor", r: 9, visibility: "hidden" });
    plane.layer("cursor").append(this.mark);
    this.list = [];
    this.nodes = new Map();
    this.current = -1;
    this.drag = null;
    const { svg: host } = plane;
    host.setAttribute("tabindex", "0");
    host.setAttribute("aria-keyshortcuts", "N P F A Delete Control+Z");
    host.addEventListener("pointerdown", (event) => this.#down(event));
    host.addEventListener("pointermove", (event) => this.#move(event));
    host.addEventListener("pointerup", (event) => this.#up(event));
    host.addEventListener("pointercancel", (event) => this.#up(event));
    host.addEventListener("dblclick", (event) => this.#add(this.plane.at(event)));
    host.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Draw points {row, x, y, group, label, ring, fill, size, opacity}; nodes of rows that stay are moved, not made anew. */
  show(list) {
    const stale = new Set(this.nodes.keys());
    for (const point of list) {
      let node = this.nodes.get(point.row);
      if (!node) {
        node = svg("path", { class: "point", "data-row": point.row });
        this.nodes.set(point.row, node);
        this.group.append(node);
      }
      stale.delete(point.row);
      const group = point.group ?? 0;
      write(node, "d", SHAPES[group % SHAPES.length]);
      write(node, "fill", point.fill ?? series(group));
      write(node, "opacity", String(point.opacity ?? 1));
      this.#place(node, point);
    }
    for (const row of stale) {
      this.nodes.get(row).remove();
      this.nodes.delete(row);
    }
    this.list = list;
    this.group.classList.toggle("many", list.length > MANY);
    this.rings(new Set(list.filter((p) => p.ring).map((p) => p.row)));
    if (this.current >= list.length) this.current = -1;
    this.#cursor();
  }

  /** Ring the points of these rows, and no others. */
  rings(rows) {
    const layer = this.plane.layer("rings");
    this.ringed ??= new Map();
    const many = this.list.length > MANY;
    layer.classList.toggle("many", many);
    for (const [row, node] of this.ringed) {
      if (rows.has(row)) continue;
      node.remove();
      this.ringed.delete(row);
    }
    for (const { row, x, y } of this.list) {
      if (!rows.has(row)) continue;
      if (!this.ringed.has(row)) {
        this.ringed.set(row, svg("circle", { class: "ring" }));
        layer.append(this.ringed.get(row));
      }
      write(this.ringed.get(row), "r", many ? "5.5" : "7.5");
      this.#place(this.ringed.get(row), { x, y });
    }
  }

  #place(node, { x, y, size }) {
    const scale = size === undefined ? "" : ` scale(${size.toFixed(2)})`;
    write(node, "transform", `translate(${this.plane.px(x).toFixed(2)} ${this.plane.py(y).toFixed(2)})${scale}`);
  }

  /** The place, or the nearest one within the axes: a point that left the picture could not be taken back. */
  #within(place) {
    const { x, y } = this.plane;
    return [x, y].map(([low, high], i) => Number(Math.min(high, Math.max(low, place[i])).toPrecision(6)));
  }

  #down(event) {
    const row = event.target.getAttribute?.("data-row");
    const position = this.list.findIndex((p) => String(p.row) === row);
    if (position < 0) return;
    event.preventDefault();
    this.plane.svg.focus({ preventScroll: true });
    const point = this.list[position];
    this.#pick(position);
    if (event.button === 2 || event.shiftKey || event.altKey) {
      if (event.altKey) this.#delete(point);
      else this.#flip(point);
      return;
    }
    this.drag = { point, moved: false };
    this.nodes.get(point.row).classList.add("dragged");
    this.plane.svg.setPointerCapture(event.pointerId);
  }

  #move(event) {
    if (!this.drag) return;
    const [x, y] = this.#within(this.plane.at(event));
    const { point } = this.drag;
    this.drag.moved = true;
    Object.assign(point, { x, y });
    this.#place(this.nodes.get(point.row), point);
    this.#cursor();
    this.onedit(["move", point.row, x, y], false);
  }

  #up() {
    if (!this.drag) return;
    const { point, moved } = this.drag;
    this.nodes.get(point.row)?.classList.remove("dragged");
    this.drag = null;
    if (moved) this.onedit(["move", point.row, point.x, point.y], true);
  }

  #add([x, y]) {
    const place = [x, y].map((v) => Number(v.toPrecision(6)));
    const value = this.value?.(place);
    if (value !== undefined && value !== null) this.onedit(["add", ...place, value], true);
  }

  #flip(point) {
    const label = this.flip?.(point);
    if (label !== undefined && label !== null) this.onedit(["label", point.row, label], true);
  }

  #delete(point) { this.onedit(["delete", point.row], true); }

  #pick(index) {
    this.current = index;
    this.#cursor();
    const point = this.list[index];
    if (point) this.onpick?.(point);
  }

  #cursor() {
    const point = this.list[this.current];
    this.mark.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return;
    this.mark.setAttribute("cx", this.plane.px(point.x));
    this.mark.setAttribute("cy", this.plane.py(point.y));
  }

  #key(event) {
    const point = this.list[this.current];
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const step = event.shiftKey ? 0.05 : 0.01;
    const span = [this.plane.x[1] - this.plane.x[0], this.plane.y[1] - this.plane.y[0]];
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if ((event.ctrlKey || event.metaKey) && key === "z") this.onundo();
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (key === "n" && this.list.length) this.#pick((this.current + 1) % this.list.length);
    else if (key === "p" && this.list.length) this.#pick((this.current - 1 + this.list.length) % this.list.length);
    else if (key === "a") this.#add([(this.plane.x[0] + this.plane.x[1]) / 2, (this.plane.y[0] + this.plane.y[1]) / 2]);
    else if (!point) return;
    else if (key === "f") this.#flip(point);
    else if (key === "Delete" || key === "Backspace") this.#delete(point);
    else if (moves[key]) {
      const place = [point.x + moves[key][0] * step * span[0], point.y + moves[key][1] * step * span[1]];
      const [x, y] = this.#within(place);
      Object.assign(point, { x, y }); // the next key goes on from here, whether or not the answer has come
      this.#place(this.nodes.get(point.row), point);
      this.#cursor();
      this.onedit(["move", point.row, x, y], true);
    } else return;
    event.preventDefault();
  }
}

/** Of 2 000 points most stay as they are: what is equal is not written again. */
function write(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** The names of the classes, each beside the shape and color of its points. */
export function legend() {
  const node = element("ul", { class: "legend", "aria-label": "Classes" });
  return {
    node,
    show(labels) {
      const now = JSON.stringify(labels);
      if (node.dataset.labels === now) return;
      node.dataset.labels = now;
      node.replaceChildren(...labels.map((label, i) => element("li", {},
        svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { d: SHAPES[i % SHAPES.length], fill: series(i) })),
        element("span", {}, label))));
    },
  };
}

/** What a screen reader hears of a point. */
export const spoken = (point) =>
  `row ${point.row + 1}: ${digits(point.x)}, ${digits(point.y)}${point.label ? `, ${point.label}` : ""}`;

/** A list of edits with one more: moves of the same point one after another are one. */
export function withEdit(edits, edit, joined) {
  const last = edits[edits.length - 1];
  const same = joined && last && last[0] === "move" && edit[0] === "move" && last[1] === edit[1];
  return [...(same ? edits.slice(0, -1) : edits), edit];
}
