// Costs of several classes: a small table, a row for each true class, a column for each prediction.

import { element } from "../../elements.js";

export function costMatrix({ labels, costs, onchange }) {
  const cell = (i, j) => {
    if (i === j) return element("td", { class: "right" }, "0");
    const input = element("input", {
      type: "number", min: 0, max: 1e6, step: "any", value: costs[i][j],
      "aria-label": `Cost of predicting ${labels[j]} where ${labels[i]} is true`,
      oninput: () => {
        const value = input.valueAsNumber;
        const fits = value >= 0 && value <= 1e6;
        input.setAttribute("aria-invalid", String(!fits));
        if (fits) onchange(i, j, value);
      },
    });
    return element("td", {}, input);
  };
  return element("div", { class: "scroll", role: "group", "aria-label": "Costs of errors", tabindex: "0" }, element("table", { class: "costs" },
    element("caption", {}, "Cost of each error: true class down, prediction across"),
    element("thead", {}, element("tr", {}, element("td"), ...labels.map((label) => element("th", { scope: "col" }, label)))),
    element("tbody", {}, ...labels.map((label, i) =>
      element("tr", {}, element("th", { scope: "row" }, label), ...labels.map((_, j) => cell(i, j)))))));
}
