// Bars of the view of a model: parts that add up, votes of neighbors, probabilities.

import { digits, element, svg } from "../../elements.js";
import { series } from "../../plane.js";

/** Probabilities of classes as bars of HTML. */
export function bars(classes, probabilities) {
  return probabilities.map((p, i) => {
    const fill = element("span", { class: "bar" });
    fill.style.width = `${100 * p}%`;
    fill.style.background = series(i);
    return element("div", { class: "chance" },
      element("span", {}, classes[i]), element("span", { class: "right", "data-figure": `probability ${classes[i]}` }, `${digits(100 * p, 4)} %`),
      element("span", { class: "track", "aria-hidden": "true" }, fill));
  });
}

const shortened = (text, most = 32) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Horizontal bars [[name, from, to, text, color]] under one another. */
function rows(plane, list, xLabel, ends) {
  const [low, high] = ends ?? [Math.min(...list.flatMap((b) => [b[1], b[2]])), Math.max(...list.flatMap((b) => [b[1], b[2]]))];
  // a row of no parts still has an axis that can be read
  const margin = high - low > 1e-3 * Math.abs(high) ? 0.06 * (high - low) : 0.05 * (Math.abs(high) || 1);
  plane.range({
    x: [ends ? low : low - margin, high + margin], y: [0, list.length], xLabel, yLabel: "",
    yTicks: list.map(([name], i) => [list.length - i - 0.5, shortened(name)]),
  });
  const thick = Math.min(22, (plane.py(0) - plane.py(1)) * 0.7);
  plane.layer("bars").replaceChildren(...list.flatMap(([name, from, to, text, color], i) => {
    const y = plane.py(list.length - i - 0.5);
    const [a, b] = [plane.px(Math.min(from, to)), plane.px(Math.max(from, to))];
    return [svg("rect", { x: a, y: y - thick / 2, width: Math.max(1, b - a), height: thick, fill: color, rx: 2, "data-part": name })];
  }));
  // numbers stand in the right margin: beside a bar they would hide the next one
  const beside = plane.svg.querySelector("[data-layer=numbers]") ?? plane.svg.appendChild(svg("g", { "data-layer": "numbers", "aria-hidden": "true" }));
  beside.replaceChildren(...list.map(([, , , text], i) => svg("text", { class: "part", x: plane.width - plane.right + 6, y: plane.py(list.length - i - 0.5) + 4 }, text)));
}

const signed = (v) => `${v > 0 ? "+" : ""}${digits(v, 3)}`;

/** The parts of a prediction. */
export function drawParts(plane, parts) {
  if (parts.kind === "neighbors") {
    rows(plane, parts.items.map(([number, distance, weight, value, code]) => [
      `row ${number}: ${typeof value === "number" ? digits(value) : value}`, 0, weight, `d ${digits(distance, 3)}`, series(code)]), parts.what,
      [0, Math.max(...parts.items.map((item) => item[2]))]);
    plane.layer("zero").replaceChildren();
    return;
  }
  const paint = (v) => (v < 0 ? series(0) : series(1));
  const adding = parts.kind !== "changes";
  const [others, rest] = parts.rest;
  const each = [...parts.items, ...(others ? [[`${others} others`, rest]] : [])];
  let at = parts.base;
  const list = adding ? [[parts["base name"], parts.base, parts.base, digits(parts.base, 4), "var(--muted)"]] : [];
  for (const [name, value] of each) {
    list.push([name, adding ? at : 0, (adding ? at : 0) + value, signed(value), paint(value)]);
    if (adding) at += value;
  }
  if (adding) list.push([parts.kind === "terms" || parts.kind === "support" ? shortened(parts.what, 30) : "", parts.total, parts.total, digits(parts.total, 4), "var(--ink)"]);
  rows(plane, list, parts.what);
  const line = (v, kind) => svg("line", { class: kind, x1: plane.px(v), x2: plane.px(v), y1: plane.py(list.length), y2: plane.py(0) });
  plane.layer("zero").replaceChildren(...(adding ? [line(parts.base, "thin dashed"), line(parts.total, "line")] : [line(0, "thin")]));
}
