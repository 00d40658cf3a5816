// The picture: regions, lines of f, ellipses, boxes and cells.

import { contour, contourPath } from "../../contours.js";
import { svg } from "../../elements.js";
import { color, series } from "../../plane.js";
import { unpack } from "../../server.js";
import { advantages } from "./field.js";

const between = ([low, high], n) => Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

/** Regions in the colors of their classes, stronger where the class is clearer. */
export function shade(plane, { grid, classes }, { winner, strength }) {
  const paint = classes.map((label) => color(`--series-${(label % 6) + 1}`));
  const pixel = [0, 0, 0, 0];
  plane.shade(...grid, (i) => {
    const [r, g, b] = paint[winner[i]];
    pixel[0] = r; pixel[1] = g; pixel[2] = b; pixel[3] = 18 + 112 * strength[i];
    return pixel;
  });
}

/** [class, level, segments] of the boundaries, and with `pair` of f = 0 and ±1 of that binary SVM. */
function levels(answer, field, n, { model, pair }) {
  const [columns, rows] = answer.grid;
  const [xs, ys] = [between(answer.box[0], columns), between(answer.box[1], rows)];
  const cells = columns * rows;
  const k = answer.classes.length;
  const smooth = model !== "neighbors" && field.kind !== "classes";
  const chosen = k === 2 ? 0 : pair;
  const margins = field.support && field.pairs[chosen];
  const lines = [];
  for (const values of smooth && !(margins && k > 2) ? advantages(field, n, cells, k) : []) lines.push(["line", 0, contour(values, xs, ys, 0)]);
  if (margins) {
    const f = field.values.subarray(chosen * n, chosen * n + cells);
    if (k > 2) lines.push(["line", 0, contour(f, xs, ys, 0)]);
    for (const level of [1, -1]) lines.push(["thin dashed margin", level, contour(f, xs, ys, level)]);
  }
  return lines;
}

/** The lines as paths of the picture. */
export function lines(plane, answer, field, n, chosen) {
  const layer = plane.layer("lines");
  const drawn = levels(answer, field, n, chosen);
  while (layer.children.length > drawn.length) layer.lastChild.remove();
  drawn.forEach(([name, level, segments], i) => {
    const node = layer.children[i] ?? layer.appendChild(svg("path", {}));
    node.setAttribute("class", name);
    node.setAttribute("data-level", `f${level}`);
    node.setAttribute("d", contourPath(plane, segments));
  });
  layer.setAttribute("visibility", "visible");
  plane.sketch?.getContext("2d").clearRect(0, 0, plane.sketch.width, plane.sketch.height);
}

/** The lines on a canvas of their own while a hand moves: thousands of points are not painted anew. */
export function sketch(plane, answer, field, n, chosen) {
  if (!plane.sketch) {
    plane.sketch = plane.canvas.cloneNode();
    plane.canvas.after(plane.sketch);
  }
  const { sketch: canvas } = plane;
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio].map(Math.round);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, width, height);
  pen.strokeStyle = `rgb(${color("--ink").join()})`;
  const [[x0, x1], [y0, y1]] = answer.box;
  for (const [, level, segments] of levels(answer, field, n, chosen)) {
    pen.lineWidth = ratio * (level ? 1.2 : 2);
    pen.globalAlpha = level ? 0.7 : 1; // segments of a grid cannot be dashed evenly
    pen.beginPath();
    for (const ends of segments) {
      ends.forEach(([x, y], at) => pen[at ? "lineTo" : "moveTo"](((x - x0) / (x1 - x0)) * width, ((y1 - y) / (y1 - y0)) * height));
    }
    pen.stroke();
  }
  plane.layer("lines").setAttribute("visibility", "hidden");
}

/** Ellipses, boxes or cells, whichever the model has. */
export function outlines(plane, { outlines: given, classes, grid }) {
  const nodes = [];
  given.ellipses?.forEach((both, c) => both.forEach((packed, twice) => {
    const at = unpack(packed);
    const d = plane.path(Array.from({ length: at.length / 2 }, (_, i) => [at[2 * i], at[2 * i + 1]]));
    nodes.push(svg("path", { class: `outline ellipse${twice ? " dashed" : ""}`, stroke: series(classes[c]), d }));
  }));
  given.boxes?.forEach(({ S, G }, c) => {
    for (const faces of G ?? []) nodes.push(rectangle(plane, faces, "outline box dashed", classes[c]));
    if (S) nodes.push(rectangle(plane, S, "outline box", classes[c]));
  });
  if (given.cells) nodes.push(...cells(plane, given.cells));
  plane.layer("outlines").replaceChildren(...nodes);
}

function rectangle(plane, [x0, y0, x1, y1], name, label) {
  return svg("rect", {
    class: name, stroke: series(label), x: plane.px(x0), y: plane.py(y1),
    width: Math.max(plane.px(x1) - plane.px(x0), 0.5), height: Math.max(plane.py(y0) - plane.py(y1), 0.5),
  });
}

function cells(plane, given) {
  const [sides, differ] = [unpack(given.sides), unpack(given.differ)];
  const text = ["", ""];
  for (let i = 0; i < differ.length; i += 1) {
    text[differ[i]] += plane.path([[sides[4 * i], sides[4 * i + 1]], [sides[4 * i + 2], sides[4 * i + 3]]]);
  }
  return [svg("path", { class: "cell", d: text[0] }), svg("path", { class: "cell apart", d: text[1] })];
}
