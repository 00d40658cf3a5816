// Centers with the way that they came; dragged by mouse or moved by keys, they start elsewhere.

import { svg } from "../../elements.js";
import { paint } from "./dots.js";

export const CENTER_KEYS = "With the picture focused: N goes from center to center, arrows move it, Space plays.";

export class Centers {
  /** onmove(places, done): all centers, one of them moved; onplay(): Space was pressed. */
  constructor(plane, { onmove, onplay, onpick }) {
    Object.assign(this, { plane, onmove, places: [], current: -1, dragged: -1 });
    this.trails = plane.layer("trails");
    this.group = plane.layer("centers");
    const { svg: host } = plane;
    host.setAttribute("tabindex", "0");
    host.setAttribute("aria-keyshortcuts", "N Space");
    host.addEventListener("pointerdown", (event) => {
      const handle = event.target.closest?.("[data-center]");
      if (!handle) return;
      event.preventDefault();
      host.focus({ preventScroll: true });
      host.setPointerCapture(event.pointerId);
      this.dragged = this.current = Number(handle.getAttribute("data-center"));
    });
    host.addEventListener("pointermove", (event) => {
      if (this.dragged >= 0) this.#move(this.dragged, plane.at(event), false);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      host.addEventListener(end, (event) => {
        if (this.dragged < 0) return;
        const moved = this.dragged;
        this.dragged = -1;
        this.#move(moved, plane.at(event), true);
      });
    }
    host.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === " ") onplay();
      else if (event.key.toLowerCase() === "n" && this.places.length) {
        this.current = (this.current + 1) % this.places.length;
        this.show(this.places);
        onpick(this.current, this.places[this.current]);
      } else if (moves[event.key] && this.places[this.current]) {
        const step = event.shiftKey ? 0.1 : 0.02;
        const span = [plane.x[1] - plane.x[0], plane.y[1] - plane.y[0]];
        this.#move(this.current, this.places[this.current].map((v, i) => v + step * moves[event.key][i] * span[i]), true);
      } else return;
      event.preventDefault();
    });
  }

  #move(which, place, done) {
    const rounded = place.map((v) => Number(v.toPrecision(5)));
    this.onmove(this.places.map((p, i) => (i === which ? rounded : p.map((v) => Number(v.toPrecision(8))))), done);
  }

  /** Ways of the centers: for every center its places at all sweeps. */
  trail(ways) {
    this.trails.replaceChildren(...ways.flatMap((way, j) => [
      svg("path", { class: "trail", d: this.plane.path(way), stroke: paint(j) }),
      svg("circle", { class: "begin", r: 3.5, cx: this.plane.px(way[0][0]), cy: this.plane.py(way[0][1]), stroke: paint(j) }),
    ]));
  }

  show(places) {
    this.places = places;
    if (this.current >= places.length) this.current = -1;
    while (this.group.childNodes.length > places.length) this.group.lastChild.remove();
    while (this.group.childNodes.length < places.length) {
      this.group.append(svg("g", { class: "center", "data-center": this.group.childNodes.length },
        svg("circle", { r: 10 }), svg("path", { d: "M-5 0H5M0-5V5" })));
    }
    places.forEach(([x, y], j) => {
      const node = this.group.childNodes[j];
      node.setAttribute("transform", `translate(${this.plane.px(x).toFixed(2)} ${this.plane.py(y).toFixed(2)})`);
      node.firstChild.setAttribute("fill", paint(j));
      node.classList.toggle("picked", j === this.current);
    });
  }
}
