// Boundary: the regions of a classifier in a plane, points to play with, and paths to slide along.
//
// A slider that runs along a known path is drawn at once from it, and the server is asked when the
// hand rests; every other change asks the server, on a coarser grid while the hand moves.

import { button, certificate, choice, digits, element, figures, slider } from "../elements.js";
import { Plane } from "../plane.js";
import { KEYS, legend, Points, spoken, withEdit } from "../points.js";
import { unpack } from "../server.js";
import { caption, CONTROLS, MODELS } from "./boundary/controls.js";
import { lines, outlines, shade, sketch } from "./boundary/draw.js";
import { decided } from "./boundary/field.js";
import { PATHS, places } from "./boundary/paths.js";

export const title = "Boundary";
export const needs = "classes";
export const about = "Regions of a classifier in a plane of two columns";

/** Milliseconds after which a hand rests. */
const REST = 140;

export function mount(host, page) {
  const { table, state } = page;
  begin(table, state);
  const plane = new Plane({ label: "Regions of the classes" });
  for (const layer of ["outlines", "lines"]) plane.layer(layer);
  const [sentence, pieces] = [element("p", { class: "quiet" }), element("p", { class: "quiet" })];
  const [numbers, proof, names] = [figures(), certificate(), legend()];
  proof.show(null);
  const modelControls = element("div", { class: "controls" });
  let answer = null; // of the last fit
  let chosen = {}; // its model, and the place of the pair whose margins are drawn
  let known = null; // the path: {key, path}
  let [moving, joined, timer, turn] = [false, false, null, 0];

  const points = new Points(plane, {
    onedit(edit, done) {
      moving = !done;
      page.change({ edits: withEdit(state.edits, edit, joined) });
      joined = !done;
    },
    onundo: undo,
    onpick: (point) => page.say(spoken(point)),
    value: (place) => answer && answer.labels[region(answer, place)],
    flip: (point) => answer.labels[(point.group + 1) % answer.labels.length],
  });

  function undo() {
    moving = false;
    if (state.edits.length) page.change({ edits: state.edits.slice(0, -1) });
  }

  /** Everything but the value of the slider that runs along the path. */
  const key = () => JSON.stringify({ ...state, [PATHS[state.model]?.slider]: 0, pair: 0 });

  /** Draw from the path, if it is known that far; figures follow, and the certificate at rest. */
  function follow() {
    const value = state[PATHS[state.model]?.slider];
    if (known?.key !== key() || value > known.path.end) return false;
    const field = known.path.at(value);
    proof.show({ holds: true, text: "On the path; its certificate follows when the slider rests." });
    const { at } = known;
    const regions = decided(field, at.n, answer.classes.length, Boolean(answer.field.support));
    shade(plane, answer, regions);
    sketch(plane, answer, field, at.n, chosen);
    const support = field.support && union(field.support, chosen).map((i) => answer.rows[i]);
    points.rings(new Set(support));
    const wrong = answer.groups.reduce((sum, g, i) => sum + (answer.classes[regions.winner[at.cells + i]] !== g), 0);
    const without = field.without ?? (support && union(field.support, {}).length / answer.rows.length);
    tell({ ...answer, error: wrong / answer.rows.length, without: answer.without && { ...answer.without, value: without } },
      field.support && union(field.support, {}).length);
    return true;
  }

  /** Draw the answer of a fit. */
  function draw() {
    plane.range({ x: answer.box[0], y: answer.box[1], xLabel: answer.axes[0], yLabel: answer.axes[1] });
    const { field, rows, groups } = answer;
    const n = answer.grid[0] * answer.grid[1];
    answer.regions = decided(field, n, answer.classes.length, Boolean(answer.field.support));
    shade(plane, answer, answer.regions);
    outlines(plane, answer);
    (moving ? sketch : lines)(plane, answer, field, n, chosen);
    const ringed = new Set(union(field.support ?? [], chosen));
    place(answer, (row) => ringed.has(row));
    sentence.textContent = caption(chosen, answer);
    tell(answer, field.support && union(field.support, {}).length);
    proof.show(answer.certificate);
    page.offer({ plane, python: answer.python });
    plane.node.dataset.drawn = turn;
    known = known?.key === key() ? known : null;
    ready();
  }

  /** Points and the names of their classes. */
  function place({ rows, x, groups, labels }, ring) {
    const size = rows.length > 400 ? 0.7 : undefined;
    names.show(labels);
    points.show(Array.from(rows, (row, i) => ({
      row, x: x[2 * i], y: x[2 * i + 1], group: groups[i], label: labels[groups[i]], ring: ring(row), size,
    })));
  }

  /** The points alone, while the first fit is under way. */
  async function begun() {
    page.say("Fitting…");
    if (state.plane !== "columns") return;
    const given = await page.ask("points");
    if (!given || answer) return;
    plane.range({ x: given.box[0], y: given.box[1], xLabel: given.axes[0], yLabel: given.axes[1] });
    place({ ...given, x: unpack(given.x), rows: unpack(given.rows), groups: unpack(given.groups) }, () => false);
  }

  function tell({ error, without, rows, labels }, support) {
    const percent = (value) => `${digits(100 * value)} %`;
    plane.description.textContent = `${rows.length} points of ${labels.length} classes; ${percent(error)} on the wrong side. ${sentence.textContent}`;
    numbers.show([
      ["Training error", percent(error), "error"],
      ...(without ? [[without.name, percent(without.value), "without"]] : []),
      ["Points", String(rows.length), "points"],
      ...(support === undefined ? [] : [["Support vectors", String(support), "support"]]),
    ]);
  }

  async function fit() {
    clearTimeout(timer);
    page.rest();
    const current = ++turn;
    const rest = !moving;
    if (!answer) begun();
    const given = await page.ask("fit", { moving });
    if (!given || current !== turn) return;
    const [x, rows, groups] = [unpack(given.points.x), unpack(given.points.rows), unpack(given.points.groups)];
    if (!answer) page.say("");
    answer = { ...given, x, rows, groups, field: { ...given.field, values: unpack(given.field.values) } };
    chosen = { model: state.model, pair: pairOf(state.pair, given) };
    panel.refresh(Boolean(given.field.support));
    draw();
    if (rest) later(trace, rows.length < 800 ? REST : 5 * REST); // a long path waits for a calm hand
    else followPath();
  }

  /** Ask for the whole path of what is shown. */
  async function trace() {
    const [current, wanted, shown] = [turn, key(), answer];
    if (!(state.model in PATHS) || known?.key === wanted) return;
    const given = await page.ask("path");
    if (!given?.path || current !== turn || key() !== wanted) return;
    const at = places(shown.grid, shown.box, shown.x);
    known = { key: wanted, at, path: new PATHS[state.model].of(given.path, at) };
    ready();
  }

  function ready() {
    plane.node.dataset.path = known ? "known" : "none";
    pieces.textContent = known?.path.pieces ?? "";
  }

  /** The whole fit, and its certificate, once the hand rests. */
  function followPath() {
    clearTimeout(timer);
    page.rest(() => { moving = false; fit(); }, REST);
  }

  function later(action, wait) {
    clearTimeout(timer);
    timer = setTimeout(() => page.open && action(), wait);
  }

  const back = button("Undo", undo);
  const panel = controls(page, modelControls, (value) => { moving = true; page.change(value); });
  host.append(element("div", { class: "view" },
    element("div", { class: "controls" }, panel.model, modelControls, ...panel.plane,
      element("p", { class: "row" }, back, button("Reset points", () => page.change({ edits: [] }))),
      element("p", { class: "quiet" }, "Drag a point; double click adds one, Shift+click changes its class, Alt+click deletes it. ", KEYS)),
    element("div", { class: "picture" }, names.node, plane.node, sentence),
    element("div", { class: "side" }, numbers.node, proof.node, pieces, page.buttons())));

  return {
    async show() {
      panel.refresh();
      back.disabled = !state.edits.length;
      if (moving && answer && follow()) {
        turn += 1; // what is under way is overtaken
        followPath();
      } else await fit();
    },
  };
}

/** What the address leaves out. */
function begin(table, state) {
  state.model ??= "svm";
  state.target ??= table.target in table.classes ? table.target : Object.keys(table.classes)[0];
  const columns = table.numbers.filter((name) => name !== state.target);
  state.plane ??= "columns";
  state.x ??= columns[0] ?? table.numbers[0];
  state.y ??= columns.find((name) => name !== state.x) ?? state.x;
  state.edits ??= [];
}

/** The class of the region at a place. */
function region({ grid: [columns, rows], box, regions, classes }, [x, y]) {
  const cell = (v, [low, high], n) => Math.min(n - 1, Math.max(0, Math.round(((v - low) / (high - low)) * (n - 1))));
  return classes[regions.winner[cell(y, box[1], rows) * columns + cell(x, box[0], columns)]];
}

/** The place of the pair that is called "A | B" among the pairs of a model; −1 for none. */
function pairOf(name, { labels, classes, field }) {
  return (field.pairs ?? []).findIndex((both) => {
    const [a, b] = both.map((c) => labels[classes[c]]);
    return name === `${a} | ${b}` || name === `${b} | ${a}`;
  });
}

/** Support vectors of the chosen pair, or of all. */
function union(lists, { pair }) {
  return lists[pair] && lists.length > 1 ? lists[pair] : [...new Set(lists.flat())];
}

/** The controls: `slide(value)` while a slider moves. */
function controls(page, modelControls, onslide) {
  const { table, state } = page;
  const rest = (changes) => page.change({ ...changes, edits: [] });
  const columns = table.numbers;
  const across = choice({ label: "Across", options: columns, value: state.x, onchange: (x) => rest({ x }) }).node;
  const up = choice({ label: "Up", options: columns, value: state.y, onchange: (y) => rest({ y }) }).node;
  const planes = [["columns", "Two columns"], ["discriminant", "Discriminant plane"]];
  const plane = choice({ label: "Plane", options: planes, value: state.plane, onchange: (value) => rest({ plane: value }) }).node;
  const target = choice({ label: "Classes", options: Object.keys(table.classes), value: state.target, onchange: (value) => rest({ target: value, pair: null }) }).node;
  const model = choice({ label: "Model", options: [...MODELS, ...page.plain.classification], value: state.model, onchange: (value) => page.change({ model: value }) }).node;
  let shown = null; // what the controls of the model were made for
  let [of, margins] = [null, false]; // whether the model has binary SVMs, whose margins can be drawn

  function refresh(support = state.model === "svm") {
    if (state.model !== of) [of, margins] = [state.model, support];
    margins ||= support;
    for (const node of [across, up]) node.hidden = state.plane === "discriminant";
    const labels = table.classes[state.target];
    const all = CONTROLS[state.model] ?? [];
    for (const { name, options, start } of all) state[name] ??= options ? options[0][0] : start;
    const now = JSON.stringify([state.model, state.kernel, labels, margins]);
    if (now === shown) return; // a control that is made anew loses the focus
    shown = now;
    const list = all.filter(({ only }) => !only || only(state));
    modelControls.replaceChildren(...list.map((given) => control(given, page, onslide)));
    if (margins && labels.length > 2) modelControls.append(pairs(labels, page));
  }
  return { model, plane: [plane, across, up, target], refresh };
}

function control({ name, label, options, ...more }, page, onslide) {
  const { state } = page;
  if (!options) return slider({ label, value: state[name], ...more, oninput: (value) => onslide({ [name]: value }) }).node;
  const number = typeof options[0][0] === "number";
  return choice({ label, options, value: state[name], onchange: (v) => page.change({ [name]: number ? Number(v) : v }) }).node;
}

/** Which pair of several classes has its margins drawn. */
function pairs(labels, page) {
  const options = [["", "None: boundaries only"], ...labels.flatMap((a, i) => labels.slice(i + 1).map((b) => `${a} | ${b}`))];
  return choice({ label: "Margins of a pair", options, value: page.state.pair ?? "", onchange: (v) => page.change({ pair: v || null }) }).node;
}
