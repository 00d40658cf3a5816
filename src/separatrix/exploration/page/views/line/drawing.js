// What the view of a line draws: curve, bands and draws against one column, or a field over two.

import { contour, contourPath } from "../../contours.js";
import { digits, svg } from "../../elements.js";
import { color, ticks } from "../../plane.js";
import { unpack } from "../../server.js";

const spread = ([low, high], n) => Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

/** a + b·x at the places of the answer's curve or grid. */
export function affine(answer, intercept, coef) {
  const x = spread(answer.box[0], answer.grid[0]);
  if (answer.grid.length === 1) return x.map((v) => intercept + coef[0] * v + (coef[1] ?? 0) * (answer.at ?? 0));
  const z = spread(answer.box[1], answer.grid[1]);
  return z.flatMap((w) => x.map((v) => intercept + coef[0] * v + coef[1] * w));
}

export function layers(plane) {
  for (const name of ["bands", "draws", "reference", "without", "stem", "curve", "levels"]) plane.layer(name);
}

const clear = (plane, ...names) => names.forEach((name) => plane.layer(name).replaceChildren());

/** Curve of `values` with all that belongs to it. */
export function drawCurve(plane, answer, values, { bands, moving }) {
  const xs = spread(answer.box[0], answer.grid[0]);
  const line = (ys, attributes) => svg("path", { d: plane.path(xs.map((x, i) => [x, ys[i]])), ...attributes });
  plane.clear();
  clear(plane, "levels", "labels");
  const shapes = (bands && !moving ? answer.bands : []).map(({ low, high }) => {
    const [down, up] = [unpack(low), unpack(high)];
    const around = [...xs.map((x, i) => [x, up[i]]), ...xs.map((x, i) => [x, down[i]]).reverse()];
    return svg("path", { class: "band", d: `${plane.path(around)}Z` });
  });
  plane.layer("bands").replaceChildren(...shapes.reverse());
  plane.layer("draws").replaceChildren(...(moving ? [] : answer.draws).map((d) => line(unpack(d), { class: "thin draw" })));
  plane.layer("reference").replaceChildren(...(answer.reference
    ? [line(affine(answer, answer.reference.intercept, answer.reference.coef), { class: "thin dashed" })] : []));
  plane.layer("without").replaceChildren(...(answer.without && !moving ? [line(unpack(answer.without), { class: "thin without" })] : []));
  plane.layer("curve").replaceChildren(line(values, { class: "line", "data-curve": "" }));
}

/** The residual of the chosen point, from the point to the curve. */
export function drawStem(plane, point, residual) {
  const shown = point && residual !== undefined && residual !== null;
  plane.layer("stem").replaceChildren(...(shown
    ? [svg("path", { class: "thin stem", d: plane.path([[point.x, point.y], [point.x, point.y - residual]]) })] : []));
}

/** Colors from low to high values of the target, as a function of a value: [r, g, b]. */
export function scale([low, high]) {
  const [below, above, middle] = [color("--series-1"), color("--series-2"), color("--paper")];
  return (value) => {
    const t = Math.max(-1, Math.min(1, (2 * (value - low)) / (high - low) - 1));
    const end = t < 0 ? below : above;
    return end.map((c, i) => Math.round(middle[i] + (c - middle[i]) * Math.abs(t)));
  };
}

/** Predictions over two columns as colors, with level lines. */
export function drawField(plane, answer, values) {
  clear(plane, "bands", "draws", "reference", "without", "curve", "stem");
  const [columns, rows] = answer.grid;
  const paint = scale(answer.box[2]);
  plane.shade(columns, rows, (i) => [...paint(values[i]), 170]);
  const [xs, zs] = [spread(answer.box[0], columns), spread(answer.box[1], rows)];
  const drawn = ticks(...answer.box[2], 8).map((level) => [level, contour(values, xs, zs, level)]).filter(([, s]) => s.length);
  plane.layer("levels").replaceChildren(...drawn.map(([, s]) => svg("path", { class: "thin", d: contourPath(plane, s) })));
  plane.layer("labels").replaceChildren(...drawn.map(([level, s]) => {
    const [x, z] = s[Math.floor(s.length / 2)][0];
    return svg("text", { class: "level", x: plane.px(x), y: plane.py(z) + 4, "text-anchor": "middle" }, digits(level));
  }));
}
