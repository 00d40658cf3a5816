// Descend: the surface of a loss with the trace of gradient descent, and a perceptron's updates.

import { button, certificate, choice, digits, element, figures, slider, tick } from "../elements.js";
import { unpack } from "../server.js";
import { LinePicture } from "./descend/line.js";
import { PerceptronPicture } from "./descend/perceptron.js";
import { Player } from "./descend/player.js";
import { Fall, SurfacePicture } from "./descend/surface.js";

export const title = "Descend";
export const needs = "numbers";
export const about = "The surface of a loss in two coefficients, gradient descent on it, and a perceptron's updates";

const LOSSES = [["squares", "Least squares"], ["logistic", "Logistic loss"], ["hinge", "Hinge loss"], ["perceptron", "Perceptron, by mistakes"]];
const STATUS = {
  solved: "The gradient has vanished.", diverged: "It diverges: the step is too long.",
  oscillating: "It oscillates: the step is too long.", "limit reached": "It goes on: more steps would go lower.",
};
const SHAPE = ["loss", "terms", "x", "y", "target", "label", "standardize"];
const PATH = [...SHAPE, "start", "rate", "steps", "batch", "seed"];

export function mount(host, page) {
  const { table, state } = page;
  const targets = [...Object.keys(table.classes), ...table.numbers.filter((n) => !(n in table.classes))];
  state.target ??= targets.includes(table.target) ? table.target : targets[0];
  const free = table.numbers.filter((n) => n !== state.target);
  state.loss ??= state.target in table.classes ? "logistic" : "squares";
  state.terms ??= free.length > 1 ? "two" : "intercept";
  state.x ??= free[0] ?? table.numbers[0];
  state.y ??= free.find((n) => n !== state.x) ?? table.numbers[1];
  state.standardize ??= true;
  state.rate ??= 1.7;
  state.steps ??= 60;
  state.batch ??= "all";
  state.seed ??= 0;
  state.start ??= [];

  const surface = new SurfacePicture({
    onstart(start, done) {
      player.stop();
      Object.assign(state, { start, at: null });
      if (done) page.change({ start, at: null });
      else follow();
    },
  });
  const perceptron = new PerceptronPicture();
  const line = new LinePicture();
  const fall = new Fall();
  const numbers = figures();
  const proof = certificate();
  const verdict = element("p", { class: "lead", role: "status", "data-figure": "status" });
  const player = new Player({ label: "Step", onstep: (at) => page.change({ at }) });

  const set = (changes) => { player.stop(); page.change({ at: null, ...changes }); };
  const fresh = (changes) => set({ start: [], ...changes });
  const labels = () => (table.classes[state.target] ?? []).map((v) => [v, v]);
  const loss = choice({ label: "Loss", options: LOSSES, value: state.loss, onchange: (v) => fresh({ loss: v }) });
  const terms = choice({ label: "Coefficients", options: [["two", "slopes of two columns"], ["intercept", "intercept and slope"]], value: state.terms, onchange: (v) => fresh({ terms: v }) });
  const across = choice({ label: "Column", options: table.numbers, value: state.x, onchange: (x) => fresh({ x }) });
  const up = choice({ label: "Second column", options: table.numbers, value: state.y, onchange: (y) => fresh({ y }) });
  const target = choice({ label: "Target", options: targets, value: state.target, onchange: (v) => fresh({ target: v, label: table.classes[v]?.[0] }) });
  const label = choice({ label: "Class against the others", options: labels(), value: state.label ?? labels()[0]?.[0], onchange: (v) => fresh({ label: v }) });
  const standard = tick({ label: "Standardize the columns", value: state.standardize, onchange: (standardize) => fresh({ standardize }) });
  const rate = slider({ label: "Step size η · L", value: state.rate, low: 0.02, high: 4, log: true, oninput: (v) => set({ rate: v }) });
  // a mark on the slider where η · L = 2
  const mark = element("datalist", { id: "step-limit" }, element("option", { value: Math.round((200 * Math.log(2 / 0.02)) / Math.log(4 / 0.02)) }));
  rate.input.setAttribute("list", "step-limit");
  rate.node.append(mark);
  const limit = element("p", { class: "quiet", "data-figure": "limit" });
  const batch = choice({ label: "Gradient of", options: [["all", "all rows"], ["one", "one row at a time"]], value: state.batch, onchange: (v) => set({ batch: v }) });
  const again = button("Another order", () => set({ seed: state.seed + 1 }));
  const steps = slider({ label: "Steps", value: state.steps, low: 5, high: 1000, log: true, whole: false, format: (v) => String(Math.round(v)), oninput: (v) => set({ steps: Math.round(v) }) });
  const hint = element("p", { class: "quiet" });
  const lower = element("div", {}, element("h3", {}, "Loss by step"), fall.plane.node);
  const heading = element("h3", {});
  const middle = element("div", {}, heading, line.plane.node, line.legend);

  host.append(element("div", { class: "view descend" },
    element("div", { class: "controls" }, loss.node, rate.node, limit, player.node, steps.node, batch.node,
      element("p", { class: "row" }, again), terms.node, across.node, up.node, target.node, label.node, standard.node, hint),
    element("div", { class: "picture" }, surface.plane.node, perceptron.plane.node, verdict, middle, lower),
    element("div", { class: "side" }, numbers.node, proof.node, page.buttons())));

  let shape = null;
  let shapeKey = "";
  let path = null;
  let pathKey = "";
  const key = (names) => JSON.stringify(names.map((name) => state[name] ?? null));

  function controls() {
    const by = state.loss === "perceptron";
    for (const [node, shown] of [
      [rate.node, !by], [limit, !by], [steps.node, !by], [batch.node, !by], [again.parentNode, !by && state.batch === "one"],
      [terms.node, !by], [up.node, by || state.terms === "two"], [label.node, state.target in table.classes],
      [surface.plane.node, !by], [perceptron.plane.node, by], [lower, !by],
      [middle, !by && state.terms === "intercept"],
    ]) node.hidden = !shown;
    loss.set(state.loss);
    rate.set(state.rate);
    label.fill(labels(), state.label ?? labels()[0]?.[0]);
    hint.textContent = by
      ? "Rows are taken in their order; every mistake moves the line. Step with the buttons, the slider or its arrow keys."
      : "Drag anywhere in the picture to start there; with the picture focused, arrow keys move the start.";
  }

  /** What one sees; no step that stays constant ends at a kink, or with one row a step. */
  function sentence(status) {
    if (status !== "diverged" && state.batch === "one") return "One row a step: it wanders about the minimum, the wider the longer the step.";
    if (status === "oscillating" && !shape.smooth) return "It circles about the minimum: the hinge has kinks, and the step stays constant.";
    return STATUS[status] ?? status;
  }

  function drawPath() {
    const last = path.values.length - 1;
    player.set(last, state.at);
    const at = player.at;
    surface.way(path.points, at);
    fall.show(path.values, shape.least, at);
    const fitted = shape.data ? line.show(path.points, at) : [];
    const bound = 2 / shape.lipschitz;
    limit.textContent = shape.smooth
      ? `η = ${digits(path.step)}; ${state.loss === "squares" ? "diverges" : "may diverge"} above 2/L = ${digits(bound)} (η · L = 2).`
      : `η = ${digits(path.step)}; the hinge has kinks: a constant step circles about the minimum.`;
    limit.classList.toggle("over", shape.smooth && path.step > bound);
    const away = shape.best && Math.hypot(path.points[2 * at] - shape.best[0], path.points[2 * at + 1] - shape.best[1]);
    numbers.show([
      ["Loss, mean a row", digits(path.values[at], 6), "loss"], ["Its minimum", digits(shape.least, 6), "least"],
      ["Distance to the minimum", digits(away, 4), "distance"], ["Step size η", digits(path.step, 5), "step"],
      ["Step limit 2/L", shape.smooth ? digits(bound, 5) : "–", "bound"], ["Condition of the Hessian", digits(shape.condition, 4), "condition"],
      ["Rows", String(shape.rows), "rows"], ...fitted]);
    const text = sentence(path.status);
    if (verdict.textContent !== text) verdict.textContent = text;
    verdict.classList.toggle("over", path.status === "diverged" || (path.status === "oscillating" && shape.smooth));
    proof.show(shape.certificate);
    page.offer({ plane: [surface.plane, ...(shape.data ? [line.plane] : []), fall.plane], python: path.python });
  }

  function drawPerceptron() {
    const { given } = perceptron;
    player.set(perceptron.wrong.length, state.at);
    perceptron.show(player.at);
    numbers.show([
      ["Update", `${player.at} of ${perceptron.wrong.length}`, "update"], ["Mistakes", `${perceptron.wrong.length}${given.cut ? "+" : ""}`, "mistakes"],
      ["Epoch", String(player.at ? perceptron.epochs[player.at - 1] : 0), "epoch"],
      ["Bound (R/γ)²", given.bound === null ? "–" : digits(given.bound, 5), "bound"], ["Rows", String(perceptron.classes.length), "rows"]]);
    verdict.textContent = given.converged
      ? `${given.label}: separated after ${perceptron.wrong.length} mistakes.`
      : `${given.label}: still mistakes after ${given.cut ? `${perceptron.wrong.length} updates` : "40 epochs"}; without a separating line they never end.`;
    verdict.classList.toggle("over", !given.converged);
    proof.show(given.cut ? null : given.certificate);
    page.offer({ plane: perceptron.plane, python: given.python });
  }

  async function follow() {
    controls();
    if (state.loss === "perceptron") {
      const wanted = key(SHAPE);
      if (shapeKey !== wanted) {
        const given = await page.ask("perceptron");
        if (!given || key(SHAPE) !== wanted) return;
        shapeKey = wanted;
        pathKey = "";
        perceptron.set(given);
      }
      return drawPerceptron();
    }
    const [wanted, pathWanted] = [key(SHAPE), key(PATH)];
    if (shapeKey !== wanted) {
      const given = await page.ask("shape");
      if (!given || key(SHAPE) !== wanted) return;
      shape = given;
      shapeKey = wanted;
      surface.set(given);
      if (given.data) line.set(given.data, state.loss);
      heading.textContent = state.loss === "logistic" ? "Line and sigmoid by step" : "Line by step";
    }
    if (pathKey !== pathWanted) {
      const given = await page.ask("descent");
      if (!given || key(SHAPE) !== wanted) return;
      path = { ...given, points: unpack(given.points), values: unpack(given.values) };
      pathKey = pathWanted;
    }
    drawPath();
  }

  return { show: follow };
}
