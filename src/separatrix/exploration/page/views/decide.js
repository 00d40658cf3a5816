// Decide: costs and abstention by hand; confusion, ROC, coverage and calibration follow.

import { button, choice, digits, element, figures, slider, tick } from "../elements.js";
import { unpack } from "../server.js";
import { costMatrix } from "./decide/matrix.js";
import { calibration, confusion, coverage, dragged, percent, roc } from "./decide/pictures.js";
import { constant, costAt, coverageRisk, decide, nearest, outcome, thresholds } from "./decide/rule.js";

export const title = "Decide";
export const needs = "labels";
export const about = "Costs and abstention: which decisions a classifier should take";

const MODELS = [
  ["logistic", "Logistic regression"], ["lda", "Linear discriminant"], ["naive_bayes", "Naive Bayes"],
  ["neighbors", "15 nearest neighbors"], ["svm", "Support vector machine"],
];
const CALIBRATIONS = [["platt", "Platt"], ["isotonic", "Isotonic"], ["temperature", "Temperature"], ["none", "As the model gives them"]];
const COST = { low: 0.1, high: 100, steps: 300, log: true };
const REJECT = { low: 0.001, high: 10, steps: 400, log: true };
const SETS = ["target", "model", "calibration", "positive"];

export function mount(host, page) {
  const { table, state } = page;
  state.target ??= table.target in table.classes ? table.target : Object.keys(table.classes)[0];
  state.model ??= "logistic";
  state.calibration ??= "platt";
  // the answer that abstention was decided for; null: decided by hand
  let chosenFor = state.abstain === undefined && state.reject === undefined ? "" : null;
  state.abstain ??= chosenFor === null;
  state.reject ??= 0.2;

  const pictures = { confusion: confusion(), roc: roc(), coverage: coverage(), calibration: calibration() };
  const numbers = figures();
  const sentence = element("p", { class: "lead", "data-figure": "sentence" });
  const hand = element("div", { class: "controls hand" });
  const matrix = element("div", { class: "matrix" });
  const positive = choice({ label: "Class of interest", options: [], value: "", onchange: (label) => page.change({ positive: label }) });
  const method = choice({ label: "Calibration", options: calibrations(), value: state.calibration, onchange: (calibration) => page.change({ calibration }) });
  let [answer, requested, spoken, risks, moved] = [null, null, "", null, () => {}];

  const titles = { confusion: "Confusion", roc: "ROC and its hull", coverage: "Risk and coverage", calibration: "Calibration" };
  const boxes = Object.entries(pictures).map(([name, { plane }]) => element("figure", {},
    element("figcaption", {}, titles[name],
      button("Save", () => page.save(plane, name), { class: "small", "aria-label": `Save picture: ${titles[name]}` })),
    plane.node));

  host.append(element("div", { class: "view decide" },
    element("div", { class: "controls" }, hand, matrix,
      element("div", { class: "controls rest" },
        choice({ label: "Model", options: [...MODELS, ...page.plain.classification], value: state.model, onchange: (model) => page.change({ model, ...only(model) }) }).node,
        method.node,
        choice({ label: "Classes", options: Object.keys(table.classes), value: state.target, onchange: (target) => page.change({ target, positive: null, costs: null }) }).node,
        positive.node,
        element("p", { class: "quiet" }, "Probabilities of every row come from a model that has not seen it: five folds, each calibrated within the others."))),
    element("div", { class: "picture wide" },
      sentence, numbers.node, element("div", { class: "four" }, ...boxes),
      page.buttons(button("Command", async () => page.code((await page.ask("code"))?.command, "The same setting as a command"))))));

  page.offer({ plane: Object.values(pictures).map(({ plane }) => plane), python: async () => (await page.ask("code"))?.python });

  function calibrations() { return state.model === "svm" ? CALIBRATIONS.slice(0, -1) : CALIBRATIONS; }

  /** A support vector machine has no probabilities of its own. */
  function only(model) { return model === "svm" && state.calibration === "none" ? { calibration: "platt" } : {}; }

  function costs() {
    const k = answer.labels.length;
    return state.costs?.length === k ? state.costs : answer.labels.map((_, i) => answer.labels.map((__, j) => Number(i !== j)));
  }

  function setCost(changes) {
    const next = costs().map((row) => [...row]);
    for (const [i, j, value] of changes) next[i][j] = value;
    page.change({ costs: next.every((row, i) => row.every((c, j) => c === Number(i !== j))) ? null : next });
  }

  /** Costs of two classes with this threshold, and the same sum. */
  function setThreshold(t) {
    const [positive, other] = [answer.positive, 1 - answer.positive];
    const sum = costs()[other][positive] + costs()[positive][other];
    setCost([[other, positive, Number((sum * t).toPrecision(6))], [positive, other, Number((sum * (1 - t)).toPrecision(6))]]);
  }

  const rest = () => page.say(spoken);

  function abstain(changes) {
    chosenFor = null;
    page.change(changes);
  }

  /** Unless the hand has decided, rows are rejected where that does not raise the mean cost. */
  function decideAbstention() {
    if (chosenFor === null || chosenFor === requested) return;
    chosenFor = requested;
    const now = costs();
    const decided = decide(answer, now, state.reject);
    const [rejecting, forced] = [outcome(answer, decided.decision, now, state.reject), outcome(answer, decided.best, now, null)];
    state.abstain = rejecting.rejected > 0 && rejecting.mean <= forced.mean;
  }

  // The chosen points are dragged, too: along the ROC curve the threshold, along coverage the cost of a rejection.
  dragged(pictures.roc.plane, ([x, y]) => {
    if (answer?.k === 2) setThreshold(Math.min(0.99, Math.max(0.01, nearest(answer.curve, x, y))));
  }, rest);
  dragged(pictures.coverage.plane, ([x]) => {
    if (answer) abstain({ abstain: true, reject: Math.min(1e6, costAt(risks, x)) });
  }, rest);

  /** Sliders of two classes, or a table of costs; and what a rejection costs. */
  function controls() {
    const [k, positive] = [answer.labels.length, answer.positive];
    const reject = slider({ label: "Cost of a rejection", value: state.reject, ...REJECT, oninput: (v) => abstain({ reject: v, abstain: true }), onchange: rest });
    const may = tick({ label: "May abstain", value: state.abstain, onchange: (may_) => (abstain({ abstain: may_ }), rest()) });
    if (k > 2) {
      hand.replaceChildren(may.node, reject.node);
      matrix.replaceChildren(costMatrix({ labels: answer.labels, costs: costs(), onchange: (i, j, v) => setCost([[i, j, v]]) }));
      moved = () => { may.set(state.abstain); reject.set(state.reject); };
      return;
    }
    const other = 1 - positive;
    const [name, rival] = [answer.labels[positive], answer.labels[other]];
    const error = (i, j) => slider({
      label: `Cost: ${answer.labels[i]} taken for ${answer.labels[j]}`, value: costs()[i][j], ...COST,
      oninput: (v) => setCost([[i, j, v]]), onchange: rest,
    });
    const [fp, fn] = [error(other, positive), error(positive, other)];
    const middle = () => thresholds(costs(), null, positive)[0];
    const cut = slider({
      label: `Threshold of ${name} against ${rival}`, value: middle(), low: 0.01, high: 0.99, steps: 98,
      oninput: setThreshold,
      onchange: rest,
    });
    matrix.replaceChildren();
    hand.replaceChildren(fp.node, fn.node, cut.node, may.node, reject.node);
    moved = () => {
      const [a, b] = [costs()[other][positive], costs()[positive][other]];
      fp.set(a);
      fn.set(b);
      cut.set(middle());
      may.set(state.abstain);
      reject.set(state.reject);
    };
  }

  function draw() {
    const now = costs();
    const reject = state.abstain ? state.reject : null;
    const decided = decide(answer, now, reject);
    const totals = outcome(answer, decided.decision, now, reject);
    const forced = outcome(answer, decided.best, now, null);
    const curve = (risks = coverageRisk(answer, decided, now));
    const between = answer.k === 2 ? thresholds(now, reject, answer.positive) : null;
    pictures.confusion.show(answer, totals, state.abstain);
    pictures.roc.show(answer, totals, now);
    pictures.coverage.show(answer, totals, curve);
    pictures.calibration.show(answer, decided.decision, between);
    const always = constant(answer, now);
    sentence.textContent = `${totals.rejected} of ${totals.n} rows are rejected; of the others ${percent(totals.error)} are wrong. `
      + `A row costs ${digits(totals.mean)} on average${state.abstain ? `, and ${digits(forced.mean)} without abstention` : ""}; `
      + `always ${answer.labels[always.at]} would cost ${digits(always.mean)}.`;
    spoken = `Mean cost ${digits(totals.mean)}, ${totals.rejected} rows rejected.`;
    numbers.show([
      ["Mean cost", digits(totals.mean), "mean"], ["Total cost", digits(totals.total), "total"],
      ["Rejected", String(totals.rejected), "rejected"], ["Coverage", percent(totals.coverage), "coverage"],
      ["Risk", digits(totals.risk), "risk"], ["Error", percent(totals.error), "error"],
      ["Area of ROC", digits(answer.curve.area), "area"], ["Miscalibration", percent(answer.bins.error), "calibration"],
      ...(between ? [["Threshold", [...new Set(between)].map((t) => digits(t)).join(" – "), "threshold"]] : []),
    ]);
  }

  /** The server has no probabilities, and says why: nothing of the last ones stays. */
  function refused() {
    [requested, answer, sentence.textContent] = [null, null, ""];
    numbers.show([]);
    hand.replaceChildren();
    matrix.replaceChildren();
    for (const { plane } of Object.values(pictures)) for (const layer of plane.layers.values()) layer.replaceChildren();
  }

  return {
    async show() {
      const wanted = JSON.stringify(SETS.map((name) => state[name]));
      if (wanted !== requested) {
        requested = wanted;
        const given = await page.ask("probabilities");
        if (!given) { if (requested === wanted) refused(); return; }
        answer = {
          ...given, p: unpack(given.p), truth: unpack(given.truth), k: given.labels.length,
          curve: { ...given.roc, fpr: unpack(given.roc.fpr), tpr: unpack(given.roc.tpr), thresholds: unpack(given.roc.thresholds) },
        };
        method.fill(calibrations(), state.calibration);
        positive.fill(answer.labels, answer.labels[answer.positive]);
        decideAbstention();
        controls();
        pictures.roc.base(answer);
        pictures.calibration.base(answer);
        draw();
        rest();
        return;
      }
      if (!answer) return;
      moved();
      draw();
    },
  };
}
