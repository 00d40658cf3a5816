// Model: a stored model or study, one prediction taken apart, and what-if by sliders.

import { button, certificate, choice, digits, element, figures, slider } from "../elements.js";
import { Plane } from "../plane.js";
import { bars, drawParts } from "./model/bars.js";

export const title = "Model";
export const needs = "model";
export const about = "A stored model: its study, one prediction taken apart, and what-if";

const day = (v) => new Date(Math.round(v) * 86400e3).toISOString().slice(0, 10);

export function mount(host, page) {
  const { state } = page;
  const narrow = matchMedia("(max-width: 44rem)").matches;
  const plane = new Plane({ label: "Parts of the prediction", width: narrow ? 400 : 640, height: 420, left: narrow ? 150 : 210, right: narrow ? 62 : 70 });
  const numbers = figures();
  const proof = certificate();
  proof.show(null);
  const head = element("h2", {});
  const caption = element("p", { class: "quiet" });
  const chances = element("div", { class: "chances" });
  const inputs = element("div", { class: "controls" });
  const resets = element("p", { class: "row" });
  const whose = element("div", { class: "controls" });
  const board = element("div", { class: "wide scroll" });
  let stored = null;
  let controls = [];

  host.append(element("div", { class: "view model" },
    element("div", { class: "controls" }, element("h2", {}, "What if"), element("p", { class: "quiet" }, "The reference row has the means and the most frequent levels of the training rows where they are stored, else the middle of a range and the first level."), resets, inputs),
    element("div", { class: "picture" }, head, plane.node, caption),
    element("div", { class: "side" }, numbers.node, chances, whose, proof.node, page.buttons()),
    board));

  const row = () => state.row ?? stored.columns.map((c) => c.start);
  function set(j, value) {
    const changed = [...row()];
    changed[j] = value;
    page.change({ row: changed });
  }

  function control(column, j) {
    if (column.kind === "level") {
      const made = choice({ label: column.name, options: [...column.levels, ["", "missing"]], value: row()[j] ?? "", onchange: (v) => set(j, v || null) });
      return { node: made.node, set: (v) => made.set(v ?? "") };
    }
    const { low, high, whole, date } = column;
    const made = slider({
      label: column.name, value: row()[j] ?? column.start, low, high, steps: 400, whole: whole && high - low <= 2000,
      format: date ? day : (v) => digits(v, 5), oninput: (v) => set(j, v),
    });
    return { node: made.node, set: (v) => made.set(v ?? column.start) };
  }

  function build() {
    controls = stored.columns.map(control);
    inputs.replaceChildren(...controls.map((c) => c.node));
    const mean = button("Reference row", () => page.change({ row: stored.columns.map((c) => c.start), label: null }));
    resets.replaceChildren(mean);
    if (stored.rows) {
      const number = element("input", { type: "number", min: 1, max: stored.rows, value: 1, "aria-label": "Row of the table" });
      const take = async () => {
        const line = await page.ask("table_row", { number: Math.max(1, Math.min(stored.rows, Number(number.value) || 1)) });
        if (line) page.change({ row: line.row, label: null });
      };
      number.addEventListener("change", take);
      resets.append(button("Row of the table", take), number);
    }
    if (stored.classes.length > 1) {
      const made = choice({ label: "Take apart the score of", options: [["", "the predicted class"], ...stored.classes], value: state.label ?? "", onchange: (v) => page.change({ label: v || null }) });
      whose.replaceChildren(made.node);
    }
    proof.show(stored.certificate);
    leaderboard();
  }

  function leaderboard() {
    const list = stored.leaderboard;
    if (!list.length) {
      board.replaceChildren(element("p", { class: "quiet" }, `${stored.name} holds a ${stored.model} without a study: no models were compared.`));
      return;
    }
    const heads = ["Model", "Method", `${list[0].metric.replaceAll("_", " ")}, cross-validated`, "Standard error", ""];
    board.replaceChildren(element("h2", {}, "The study"),
      element("table", { class: "leaderboard" },
        element("thead", {}, element("tr", {}, ...heads.map((h, i) => element("th", { scope: "col", class: i === 2 || i === 3 ? "right" : null }, h)))),
        element("tbody", {}, ...list.map((entry) => element("tr", { class: entry.chosen ? "chosen-model" : null },
          element("th", { scope: "row" }, entry.name), element("td", {}, entry.label),
          element("td", { class: "right", "data-figure": `mean ${entry.name}` }, digits(entry.mean)), element("td", { class: "right" }, digits(entry.error, 2)),
          element("td", {}, entry.chosen ? "chosen" : entry.note))))),
      element("p", { class: "quiet" }, stored.reason, " ",
        stored.test.length ? `On the test rows: ${stored.test.map(([name, value, low, high]) => `${name.replaceAll("_", " ")} ${digits(value)} [${digits(low)}, ${digits(high)}]`).join(", ")}.` : ""));
  }

  function draw(answer) {
    const text = answer.number === null ? answer.prediction : digits(answer.number, 6);
    head.textContent = `${stored.target}: ${text}`;
    numbers.show([
      ["Prediction", text, "prediction"],
      ...answer.intervals.map(([name, low, high]) => [name, high === undefined ? low : `${digits(low, 5)} to ${digits(high, 5)}`, name]),
    ]);
    chances.replaceChildren(...bars(stored.classes, answer.probabilities));
    whose.hidden = answer.parts?.kind === "neighbors";
    plane.node.hidden = !answer.parts;
    const still = !state.row && answer.parts?.kind === "terms" ? " Move a slider: parts are zero at the reference row." : "";
    caption.textContent = `${answer.parts?.note ?? ""}${still}`;
    if (answer.parts) drawParts(plane, answer.parts, answer.label);
    plane.description.textContent = `${stored.target} is predicted as ${text}. ${describe(answer.parts)}`;
    page.offer({ plane, python: answer.python });
    page.rest(() => page.say(`Prediction: ${text}.`), 250); // once, when the slider rests
    controls.forEach((c, j) => c.set(answer.row[j]));
  }

  function describe(parts) {
    if (!parts) return "";
    const list = parts.kind === "neighbors"
      ? parts.items.map(([number, distance, , value]) => `row ${number} at ${digits(distance, 3)}: ${value}`)
      : parts.items.slice(0, 5).map(([name, value]) => `${name}: ${digits(value, 3)}`);
    return `${parts.note} ${list.join("; ")}.`;
  }

  return {
    async show() {
      if (!stored) {
        const loaded = await page.ask("about");
        if (!loaded || stored) return;
        stored = loaded;
        // a row of the table to begin with: all parts of the reference row are zero
        if (!state.row && stored.rows) state.row = (await page.ask("table_row", { number: 1 }))?.row;
        build();
      }
      const answer = await page.ask("explain");
      if (answer) draw(answer);
    },
  };
}
