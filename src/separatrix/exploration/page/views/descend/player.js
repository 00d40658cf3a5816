// A slider over steps, with play, back and forward. The step is null at the last one.

import { button, element, slider } from "../../elements.js";

export class Player {
  /** onstep(at): a step was chosen; rate: milliseconds a step. */
  constructor({ label, onstep, rate = 90 }) {
    this.onstep = onstep;
    this.last = 0;
    this.at = 0;
    this.rate = rate;
    this.slider = slider({ label, value: 0, low: 0, high: 1, steps: 1, oninput: (v) => this.go(Math.round(v)) });
    this.playing = button("Play", () => this.toggle(), { "aria-pressed": "false" });
    this.back = button("‹", () => this.go(this.at - 1), { "aria-label": "A step back" });
    this.forward = button("›", () => this.go(this.at + 1), { "aria-label": "A step forward" });
    this.node = element("div", { class: "controls" }, this.slider.node,
      element("p", { class: "row" }, this.back, this.playing, this.forward));
  }

  /** Steps that there are, and the one that is shown. */
  set(last, at) {
    this.last = last;
    this.at = Math.min(at ?? last, last);
    this.slider.input.max = Math.max(last, 1);
    this.slider.set(this.at);
    const text = `${this.at} of ${last}`;
    this.slider.node.querySelector("output").textContent = text;
    this.slider.input.setAttribute("aria-valuetext", text);
    this.back.disabled = this.at === 0;
    this.forward.disabled = this.at === last;
  }

  go(at) {
    this.stop();
    this.#show(at);
  }

  #show(at) {
    const step = Math.min(Math.max(at, 0), this.last);
    this.onstep(step === this.last ? null : step);
  }

  toggle() {
    if (this.timer) return this.stop();
    this.playing.textContent = "Pause";
    this.playing.setAttribute("aria-pressed", "true");
    if (this.at >= this.last) this.#show(0);
    this.timer = setInterval(() => {
      if (!this.node.isConnected || this.at >= this.last) return this.stop();
      return this.#show(this.at + 1);
    }, this.rate);
    return undefined;
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.playing.textContent = "Play";
    this.playing.setAttribute("aria-pressed", "false");
  }
}
