// Line: one or two columns against a target of numbers, and points to pull at it.

import { button, certificate, choice, digits, element, figures } from "../elements.js";
import { Plane } from "../plane.js";
import { Points, withEdit } from "../points.js";
import { unpack } from "../server.js";
import { columnControls, modelControls, MODELS } from "./line/controls.js";
import { affine, drawCurve, drawField, drawStem, layers, scale } from "./line/drawing.js";

export const title = "Line";
export const needs = "numbers";
export const about = "One or two columns against a target of numbers";

const HELP = "Drag a point; double click adds one, Alt+click deletes it. With the picture focused: N and P go from point to point, "
  + "arrows move it (more with Shift), Delete removes it, A adds one, Ctrl+Z undoes.";

export function mount(host, page) {
  const { state } = page;
  state.model ??= "least squares";
  state.edits ??= [];
  const size = matchMedia("(max-width: 44rem)").matches ? { width: 420, height: 400 } : {};
  const plane = new Plane({ label: "Target against its columns", left: 68, ...size });
  layers(plane);
  const numbers = figures();
  const pointFigures = figures();
  const proof = certificate();
  proof.show(null);
  const caption = element("p", { class: "quiet" });
  const terms = element("table", { class: "terms" });
  const pointed = element("section", { hidden: true }, element("h3", {}, "The chosen point"), pointFigures.node);
  let answer = null;
  let values = [];
  let joined = false;
  let sliding = false;
  const field = () => answer.grid.length === 2;

  const points = new Points(plane, {
    onedit(edit, done) {
      const row = edit[0] === "move" ? { point: edit[1] } : edit[0] === "delete" ? { point: null } : {};
      page.change({ edits: withEdit(state.edits, placed(edit), joined), ...row });
      joined = !done;
    },
    onundo: undo,
    onpick: ({ row }) => page.change({ point: row }),
    value: ([x, y]) => (field() ? predicted(x, y) : y),
  });
  plane.layer("labels");

  /** An edit of the picture as one of all columns and the target. */
  function placed(edit) {
    if (answer.names.length === 1) return edit;
    const [kind, ...rest] = edit;
    if (kind === "move") {
      const [row, a, b] = rest;
      const old = points.list.find((p) => p.row === row);
      return [kind, row, a, ...(field() ? [b, old.target] : [old.z, b])];
    }
    if (kind === "add") return [kind, rest[0], ...(field() ? [rest[1], rest[2]] : [answer.at, rest[1]]), rest[2]];
    return edit;
  }

  function predicted(x, z) {
    const cell = (v, [low, high], n) => Math.min(n - 1, Math.max(0, Math.round(((v - low) / (high - low)) * (n - 1))));
    const [columns, rows] = answer.grid;
    return Number(values[cell(z, answer.box[1], rows) * columns + cell(x, answer.box[0], columns)].toPrecision(6));
  }

  function undo() {
    if (state.edits.length) page.change({ edits: state.edits.slice(0, -1) });
  }

  const model = choice({ label: "Model", options: [...MODELS, ...page.plain.regression], value: state.model, onchange: (name) => page.change({ model: name }) });
  const modelPanel = modelControls(page, {
    onslide(index, name) {
      sliding = true;
      page.change({ [name]: answer.path.alphas[index] });
      sliding = false;
    },
    onrest: () => page.change({}),
    learn: async () => page.change((await page.ask("learn")) ?? {}),
  });
  const columns = columnControls(page, (changes) => page.change({ edits: [], point: null, at: null, ...changes }));
  const back = button("Undo", undo);
  host.append(element("div", { class: "view" },
    element("div", { class: "controls" }, model.node, modelPanel.node, columns.node,
      element("p", { class: "row" }, back, button("Reset points", () => page.change({ edits: [], point: null }))),
      element("p", { class: "quiet" }, HELP)),
    element("div", { class: "picture" }, plane.node, caption),
    element("div", { class: "side" }, numbers.node, element("div", { class: "scroll" }, terms), pointed, proof.node, page.buttons())));

  /** Points as the picture has them: size by Cook's distance, color by the target in a field. */
  function list() {
    const places = unpack(answer.points.x);
    const d = answer.names.length + 1;
    const cooks = answer.influence && unpack(answer.influence.cooks);
    const outliers = new Set(answer.outliers);
    const paint = field() ? scale(answer.box[2]) : null;
    const span = d === 3 ? answer.box[1][1] - answer.box[1][0] : 1;
    return Array.from(unpack(answer.points.rows), (row, i) => {
      const [x, second, third] = places.subarray(d * i, d * i + d);
      const target = d === 3 ? third : second;
      const point = { row, x, y: field() ? second : target, z: second, target, size: cooks ? 0.75 + 2.2 * Math.sqrt(Math.min(1, cooks[i])) : 0.85 };
      const strong = cooks ? cooks[i] > 4 / cooks.length : outliers.has(row);
      if (paint) Object.assign(point, { fill: `rgb(${paint(target).join(" ")})`, ring: strong });
      else point.fill = strong ? "var(--series-2)" : "var(--series-1)";
      point.opacity = d === 3 && !field() ? Math.max(0.12, Math.exp(-(((second - answer.at) / (0.12 * span)) ** 2))) : 1;
      return point;
    });
  }

  function draw({ moving = false } = {}) {
    const [across, up] = field() ? [0, 1] : [0, answer.box.length - 1];
    const label = (i) => [...answer.names, answer.target][i];
    plane.range({ x: answer.box[across], y: answer.box[up], xLabel: label(across), yLabel: label(up) });
    plane.svg.classList.toggle("field", field());
    if (field()) drawField(plane, answer, values);
    else drawCurve(plane, answer, values, { bands: state.bands !== false, moving });
    if (moving) return;
    const shown = list();
    points.current = shown.findIndex((p) => p.row === state.point);
    points.show(shown);
    if (!field()) drawStem(plane, answer.names.length === 1 ? shown[points.current] : null, answer.point?.residual);
  }

  const unit = (v) => `${digits(v)}`;
  function tell({ r2, rmse, loo, gcv, freedom }, list_) {
    numbers.show([
      ["R²", digits(r2), "r2"],
      [`RMSE (${answer.target})`, unit(rmse), "rmse"],
      ...(loo === undefined || loo === null ? [] : [["RMSE, leave-one-out", unit(loo), "loo"]]),
      ...(gcv === undefined ? [] : [["RMSE, generalized cross-validation", unit(gcv), "gcv"]]),
      ...(freedom === undefined ? [] : [["Degrees of freedom", digits(freedom), "freedom"]]),
      ["Points", String(points.list.length), "points"],
    ]);
    const errors = list_.some(([, , e]) => e !== null);
    terms.hidden = !list_.length;
    terms.replaceChildren(
      element("thead", {}, element("tr", {}, ...["Term", "Coefficient", ...(errors ? ["Standard error"] : [])].map((t, i) => element("th", { scope: "col", class: i ? "right" : null }, t)))),
      element("tbody", {}, ...list_.map(([name, b, e]) => element("tr", {},
        element("th", { scope: "row" }, name), element("td", { class: "right", "data-figure": `coefficient ${name}` }, digits(b)),
        ...(errors ? [element("td", { class: "right", "data-figure": `error ${name}` }, digits(e))] : [])))));
    describe(r2, rmse);
  }

  function describe(r2, rmse) {
    const name = MODELS.find(([word]) => word === state.model)?.[1] ?? state.model;
    const what = field()
      ? "Color is the predicted target; a point that stands out from its surroundings has a large residual."
        + (answer.influence ? " Ringed: Cook's distance above 4/n." : answer.outliers.length ? " Ringed: outliers." : "")
      : [answer.at === null ? "" : `The curve is that at ${answer.names[1]} ${digits(answer.at)}; fainter points are further from it.`,
        answer.bands.length && state.bands !== false ? "Dark band: the curve; light band: new points, both 95 %." : "",
        answer.reference ? "Dashed: least squares." : "", answer.without ? "Dotted: without the chosen point." : "",
        answer.influence ? "Large points have a large Cook's distance; above 4/n they are orange." : "",
        answer.outliers.length ? `${answer.outliers.length} outliers are orange.` : ""].filter(Boolean).join(" ");
    const first = `${name}: ${answer.target} by ${answer.names.join(" and ")}, R² ${digits(r2, 3)}, RMSE ${digits(rmse, 3)}.`;
    plane.description.textContent = `${first} ${what}`;
    caption.textContent = [what, answer.note].filter(Boolean).join(" ");
  }

  function choose() {
    const { point } = answer;
    pointed.hidden = !point;
    if (!point) return;
    pointFigures.show([
      ["Row", String(point.row + 1), "row"], ["Residual", unit(point.residual), "residual"],
      ...(point.cooks === undefined ? [] : [
        ["Leverage", digits(point.leverage), "leverage"], ["Cook's distance", digits(point.cooks), "cooks"],
        ["Studentized residual", digits(point.studentized), "studentized"]]),
    ]);
    page.say(`Row ${point.row + 1}: residual ${digits(point.residual, 3)}${point.cooks === undefined ? "" : `, leverage ${digits(point.leverage, 3)}, Cook's distance ${digits(point.cooks, 3)}`}.`);
  }

  /** The point of the path under the slider: all of it is here. */
  function follow() {
    const { path } = answer;
    const i = path.alphas.indexOf(state[state.model]);
    const coef = Array.from(path.coefs.subarray(i * answer.names.length, (i + 1) * answer.names.length));
    values = affine(answer, path.intercepts[i], coef);
    draw({ moving: true });
    tell({ r2: path.r2[i], rmse: path.rmse[i], freedom: path.freedom[i], gcv: path.gcv?.[i] },
      [["intercept", path.intercepts[i], null], ...answer.names.map((name, k) => [name, coef[k], null])]);
    proof.show({ holds: true, text: `A point of the path: all ${path.alphas.length} have a duality gap of at most ${digits(path.gap, 3)}.` });
  }

  /** The points alone, while the first fit is under way. */
  async function begun() {
    page.say("Fitting…");
    if (state.z) return;
    const given = await page.ask("points");
    if (!given || answer) return;
    const places = unpack(given.x);
    plane.range({ x: given.box[0], y: given.box[1], xLabel: given.axes[0], yLabel: given.axes[1] });
    points.show(Array.from(unpack(given.rows), (row, i) => ({ row, x: places[2 * i], y: places[2 * i + 1], size: 0.85 })));
  }

  async function ask() {
    if (!answer) begun();
    if (state.model === "process" && state.length === undefined) {
      const learned = await page.ask("learn");
      if (learned && state.model === "process") page.change(learned);
      return;
    }
    const fit = await page.ask("fit");
    if (!fit) return;
    if (!answer) page.say("");
    answer = fit;
    values = unpack(fit.values);
    if (fit.path) for (const key of ["coefs", "intercepts", "r2", "rmse", "freedom", "gcv"]) if (fit.path[key]) fit.path[key] = unpack(fit.path[key]);
    modelPanel.show(fit);
    columns.show(fit);
    draw();
    choose();
    proof.show(fit.certificate);
    page.offer({ plane, python: fit.python });
    tell(fit.errors ?? { r2: null, rmse: null }, fit.terms);
    if (!fit.errors) {
      await new Promise((rest) => setTimeout(rest, 150)); // they sum over all pairs: when the hand rests
      if (answer !== fit) return;
      const errors = await page.ask("errors");
      if (errors && answer === fit) tell(errors, fit.terms);
    }
  }

  return {
    show() {
      model.set(state.model);
      back.disabled = !state.edits.length;
      if (sliding && answer?.path) return follow();
      return ask();
    },
  };
}
