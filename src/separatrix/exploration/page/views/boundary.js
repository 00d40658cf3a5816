// Boundary: the regions of a classifier in a plane of two columns, and points to play with.

import { button, certificate, choice, digits, element, figures, slider } from "../elements.js";
import { color, Plane } from "../plane.js";
import { KEYS, Points, spoken, withEdit } from "../points.js";
import { unpack } from "../server.js";

export const title = "Boundary";
export const needs = "classes";
export const about = "Regions of a classifier in a plane of two columns";

const MODELS = [["svm", "Support vector machine"], ["logistic", "Logistic regression"], ["neighbors", "Nearest neighbors"]];
const SLIDERS = {
  svm: [["C", 0.01, 1000, 1], ["gamma", 0.01, 100, 1]],
  logistic: [["C", 0.001, 1000, 1]],
  neighbors: [["k", 1, 50, 5]],
};

export function mount(host, page) {
  const { table, state } = page;
  state.model ??= "svm";
  state.target ??= table.target in table.classes ? table.target : Object.keys(table.classes)[0];
  state.x ??= table.numbers[0];
  state.y ??= table.numbers.find((n) => n !== state.x && n !== state.target) ?? state.x;
  state.edits ??= [];

  const plane = new Plane({ label: "Regions of the classes" });
  const numbers = figures();
  const proof = certificate();
  const sliders = element("div", { class: "controls" });
  let answer = null;
  let joined = false;

  const points = new Points(plane, {
    onedit(edit, done) {
      page.change({ edits: withEdit(state.edits, edit, joined) });
      joined = !done;
    },
    onundo: undo,
    onpick: (point) => page.say(spoken(point)),
    value: ([x, y]) => answer && answer.labels[region(x, y)],
    flip: (point) => answer.labels[(point.group + 1) % answer.labels.length],
  });

  function undo() {
    if (state.edits.length) page.change({ edits: state.edits.slice(0, -1) });
  }

  function region(x, y) {
    const [columns, rows] = answer.grid;
    const cell = (v, [low, high], n) => Math.min(n - 1, Math.max(0, Math.round(((v - low) / (high - low)) * (n - 1))));
    return answer.regions[cell(y, answer.box[1], rows) * columns + cell(x, answer.box[0], columns)];
  }

  const columns = table.numbers;
  const back = button("Undo", undo);
  host.append(element("div", { class: "view" },
    element("div", { class: "controls" },
      choice({ label: "Model", options: MODELS, value: state.model, onchange: (model) => page.change({ model }) }).node,
      sliders,
      choice({ label: "Across", options: columns, value: state.x, onchange: (x) => page.change({ x, edits: [] }) }).node,
      choice({ label: "Up", options: columns, value: state.y, onchange: (y) => page.change({ y, edits: [] }) }).node,
      choice({ label: "Classes", options: Object.keys(table.classes), value: state.target, onchange: (target) => page.change({ target, edits: [] }) }).node,
      element("p", { class: "row" }, back, button("Reset points", () => page.change({ edits: [] }))),
      element("p", { class: "quiet" }, "Drag a point; double click adds one, Shift+click changes its class, Alt+click deletes it. ", KEYS)),
    element("div", { class: "picture" }, plane.node),
    element("div", { class: "side" }, numbers.node, proof.node, page.buttons())));

  let shown = null;
  function controls() {
    if (shown === state.model) return;
    shown = state.model;
    sliders.replaceChildren(...SLIDERS[state.model].map(([name, low, high, start]) => {
      state[name] ??= start;
      const whole = name === "k";
      return slider({ label: name, value: state[name], low, high, log: !whole, whole, oninput: (v) => page.change({ [name]: v }) }).node;
    }));
  }

  function draw() {
    const [across, up] = answer.box;
    plane.range({ x: across, y: up, xLabel: answer.names[0], yLabel: answer.names[1] });
    const paint = answer.labels.map((_, i) => [...color(`--series-${(i % 6) + 1}`), 60]);
    plane.shade(...answer.grid, (i) => paint[answer.regions[i]]);
    const x = unpack(answer.points.x);
    const rows = unpack(answer.points.rows);
    const groups = unpack(answer.points.groups);
    const ringed = new Set(answer.support);
    points.show(Array.from(rows, (row, i) => ({
      row, x: x[2 * i], y: x[2 * i + 1], group: groups[i], label: answer.labels[groups[i]], ring: ringed.has(row),
    })));
    plane.description.textContent = `${rows.length} points of ${answer.labels.length} classes; ${(100 * answer.error).toFixed(1)} % on the wrong side.`;
    numbers.show([
      ["Training error", `${digits(100 * answer.error)} %`, "error"],
      ["Points", String(rows.length), "points"],
      ...(answer.support.length ? [["Support vectors", String(answer.support.length), "support"]] : []),
    ]);
    proof.show(answer.certificate);
    page.offer({ plane, python: answer.python });
  }

  return {
    async show() {
      controls();
      back.disabled = !state.edits.length;
      const found = await page.ask("fit");
      if (!found) return;
      answer = { ...found, regions: unpack(found.classes) };
      draw();
    },
  };
}
