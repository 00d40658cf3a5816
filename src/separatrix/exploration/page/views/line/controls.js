// Controls of the view of a line: which model, its sliders, which columns.

import { button, choice, digits, element, slider, tick } from "../../elements.js";

export const MODELS = [
  ["least squares", "Least squares"], ["ridge", "Ridge"], ["lasso", "Lasso"],
  ["huber", "Huber (robust)"], ["quantile", "Quantile, least absolute"],
  ["polynomial", "Polynomial"], ["smoother", "Nadaraya–Watson"], ["process", "Gaussian process"],
];

const SD = "standard deviations";

/** Sliders of a model: name in the state, and what `slider` takes. */
function sliders({ model, z }, names, flat) {
  const length = (name, column) => [name, { label: `Length scale of ${column}, in ${SD}`, value: 1, low: 0.05, high: 50, log: true }];
  return {
    huber: [["epsilon", { label: "ε: an outlier is beyond ε scales", value: 1.35, low: 1, high: 5 }]],
    quantile: [["quantile", { label: "Quantile; 0.5 is least absolute", value: 0.5, low: 0.02, high: 0.98, steps: 96 }]],
    polynomial: [["degree", { label: "Degree", value: 3, low: 1, high: z ? 5 : 12, whole: true }]],
    smoother: [["bandwidth", { label: `Bandwidth, in ${SD}`, value: 0.3, low: 0.02, high: 5, log: true }]],
    process: [
      length("length", names[0]), ...(z ? [length("length2", names[1])] : []),
      ["signal", { label: `Signal, in ${SD} of the target`, value: 1, low: 0.05, high: 20, log: true }],
      ["noise", { label: `Noise, in ${SD} of the target`, value: 0.5, low: 0.01, high: 5, log: true }],
      ...(flat ? [["draws", { label: "Draws", value: 5, low: 0, high: 20, whole: true }]] : []),
    ],
  }[model] ?? [];
}

/** The part of the controls that follows the model; `show(answer)` rebuilds it where needed. */
export function modelControls(page, { onslide, onrest, learn }) {
  const { state } = page;
  const node = element("div", { class: "controls" });
  let built = "";
  let made = {};

  function parameters(answer) {
    return sliders(state, answer.names, answer.grid.length === 1).map(([name, given]) => {
      const control = slider({ ...given, value: state[name] ?? given.value, oninput: (v) => page.change({ [name]: v }) });
      made[name] = control;
      return control.node;
    });
  }

  /** The penalty runs over the points of the path, which is here already: nothing is sent. */
  function penalty({ path }) {
    const name = state.model;
    const nearest = (v) => path.alphas.reduce((best, a, i) => (Math.abs(Math.log(a / v)) < Math.abs(Math.log(path.alphas[best] / v)) ? i : best), 0);
    const control = slider({
      label: "Penalty α on the standardized columns", value: nearest(state[name] ?? path.start), low: 0, high: path.alphas.length - 1, whole: true,
      format: (i) => digits(path.alphas[i]), oninput: (i) => onslide(i, name), onchange: onrest,
    });
    made[name] = { set: (v) => control.set(nearest(v)) };
    return [control.node];
  }

  return {
    node,
    show(answer) {
      const key = JSON.stringify([state.model, answer.names, answer.target, answer.grid.length]);
      if (key !== built) {
        built = key;
        made = {};
        node.replaceChildren(
          ...(answer.path ? penalty(answer) : parameters(answer)),
          ...(["smoother", "process"].includes(state.model)
            ? [element("p", { class: "row" },
              button(state.model === "process" ? "Learn from the points" : "Choose by leave-one-out", learn),
              ...(state.model === "process" && answer.grid.length === 1 ? [button("Draw again", () => page.change({ seed: ((state.seed ?? 0) + 1) % 1000 }))] : []))]
            : []),
        );
      }
      for (const [name, control] of Object.entries(made)) if (state[name] !== undefined) control.set(state[name]);
    },
  };
}

/** Target, one or two columns, and what is drawn of two. */
export function columnControls(page, fresh) {
  const { state, table } = page;
  const node = element("div", { class: "controls" });
  let built = "";
  return {
    node,
    show(answer) {
      const [x, z = ""] = answer.names;
      const key = JSON.stringify([x, z, answer.target, answer.grid.length]);
      if (key === built) return;
      built = key;
      const rest = (...used) => table.numbers.filter((name) => !used.includes(name));
      const parts = [
        choice({ label: "Target", options: table.numbers, value: answer.target, onchange: (target) => fresh({ target, x: null, z: null }) }).node,
        choice({ label: "Column", options: rest(answer.target, z), value: x, onchange: (to) => fresh({ x: to }) }).node,
        choice({ label: "Second column", options: [["", "none"], ...rest(answer.target, x)], value: z, onchange: (to) => fresh({ x, z: to || null, ...(to && state.degree > 5 ? { degree: 5 } : {}) }) }).node,
      ];
      if (z) {
        const [low, high] = answer.box[1];
        parts.push(choice({
          label: "Picture", options: [["field", "Field of predictions"], ["slice", `Slice at one ${z}`]],
          value: state.picture ?? "field", onchange: (picture) => page.change({ picture }),
        }).node);
        if (answer.at !== null) {
          parts.push(slider({ label: `Slice at ${z}`, value: answer.at, low, high, oninput: (at) => page.change({ at }) }).node);
        }
      }
      if (answer.grid.length === 1) parts.push(tick({ label: "Bands of 95 %", value: state.bands !== false, onchange: (bands) => page.change({ bands }) }).node);
      node.replaceChildren(...parts);
    },
  };
}
