// The loss against the sweeps; a click goes to a sweep.

import { digits, svg } from "../../elements.js";
import { Plane } from "../../plane.js";

export class Losses {
  constructor({ onsweep }) {
    this.plane = new Plane({ label: "Loss by sweep", width: 460, height: 290, left: 62 });
    this.plane.svg.addEventListener("click", (event) => {
      if (this.losses) onsweep(Math.min(this.losses.length - 1, Math.max(0, Math.round(this.plane.at(event)[0]))));
    });
  }

  set(losses, steps, name) {
    this.losses = losses;
    const last = losses.length - 1;
    const [low, high] = [Math.min(...losses), Math.max(...losses)];
    const margin = 0.08 * (high - low) || 0.05 * Math.abs(high) || 1;
    this.plane.range({ x: [-0.2, Math.max(last, 1) + 0.2], y: [low - margin, high + margin], xLabel: "sweep", yLabel: name });
    this.plane.layer("curve").replaceChildren(
      svg("path", { class: "line", d: this.plane.path(losses.map((loss, i) => [i, loss])) }),
      ...losses.map((loss, i) => svg("circle", {
        class: steps[i] === "swap" ? "stop swap" : "stop", r: 3.5, cx: this.plane.px(i), cy: this.plane.py(loss),
      }, svg("title", {}, `sweep ${i}: ${digits(loss, 6)}`))));
    this.plane.description.textContent = `The loss falls from ${digits(losses[0], 6)} to ${digits(losses[last], 6)} in ${last} sweeps.`;
  }

  /** The place between sweeps, where an animation is. */
  mark(t) {
    const a = Math.floor(t);
    const b = Math.min(a + 1, this.losses.length - 1);
    const loss = this.losses[a] + (t - a) * (this.losses[b] - this.losses[a]);
    this.plane.layer("now").replaceChildren(svg("circle", { class: "now", r: 6.5, cx: this.plane.px(t), cy: this.plane.py(loss) }));
  }
}
