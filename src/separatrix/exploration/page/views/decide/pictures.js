// The four pictures: confusion, ROC, risk against coverage, calibration.

import { broken, digits, short, svg } from "../../elements.js";
import { Plane, series } from "../../plane.js";

const SIZE = { width: 440, height: 300, left: 62, right: 14, top: 10, bottom: 44 };
const UNIT = [-0.02, 1.02];

/** A fraction in per cent. */
export const percent = (v) => (v === null ? "–" : `${digits(100 * v, 3)}\u00a0%`);

const names = (labels, most) => labels.map((label, i) => [i, broken(label, most)]);

const mark = (plane, x, y, attributes = {}) =>
  svg("circle", { class: "chosen", cx: plane.px(x), cy: plane.py(y), r: 6, ...attributes });
const line = (plane, kind, places) => svg("path", { class: kind, d: plane.path(places) });

/** Counts by class and decision, shaded by their share of the class. */
export function confusion() {
  const plane = new Plane({ label: "Confusion matrix", ...SIZE, left: 96, bottom: 62 });
  return {
    plane,
    show({ labels }, { counts, rejected, n }, abstain) {
      const k = labels.length;
      const columns = abstain ? [...labels, "rejected"] : labels;
      const room = Math.max(3, Math.floor((SIZE.width - 110) / columns.length / 6.6));
      plane.range({
        x: [-0.5, columns.length - 0.5], y: [k - 0.5, -0.5], xLabel: "Decision", yLabel: "Class",
        xTicks: names(columns, room), yTicks: names(labels, 11),
      });
      const [width, height] = [plane.px(1) - plane.px(0), plane.py(1) - plane.py(0)];
      const cells = counts.flatMap((row, i) => {
        const whole = row.reduce((a, b) => a + b, 0);
        return columns.map((_, j) => {
          const share = whole ? row[j] / whole : 0;
          const color = j === k ? "var(--muted)" : series(i === j ? 0 : 1);
          const [x, y] = [plane.px(j), plane.py(i)];
          const big = height > 38 && width > 36;
          return svg("g", {},
            big ? null : svg("title", {}, `${labels[i]}, ${j < k ? `as ${columns[j]}` : "rejected"}: ${row[j]}, ${percent(share)}`),
            svg("rect", { class: "blank", x: x - width / 2, y: y - height / 2, width, height }),
            svg("rect", { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2, rx: 3, fill: color, "fill-opacity": 0.45 * share }),
            svg("text", { class: "count", x, y: y + (big ? -1 : 4), "text-anchor": "middle", "data-cell": `${i}-${j}` }, String(row[j])),
            big ? svg("text", { class: "share", x, y: y + 14, "text-anchor": "middle" }, percent(share)) : null);
        });
      });
      plane.layer("cells").replaceChildren(...cells);
      plane.description.textContent = counts.map((row, i) => {
        const parts = [...labels.map((label, j) => [row[j], `as ${label}`]), [row[k], "rejected"]];
        return `${labels[i]}: ${parts.filter(([c]) => c).map(([c, text]) => `${c} ${text}`).join(", ")}.`;
      }).join(" ") + ` ${rejected} of ${n} rows are rejected.`;
    },
  };
}

/** True against false positive rate of one class, its hull, and where the decisions are. */
export function roc() {
  const plane = new Plane({ label: "ROC curve", ...SIZE });
  return {
    plane,
    /** What no cost changes. */
    base({ labels, positive, curve }) {
      const name = labels[positive];
      plane.range({ x: UNIT, y: UNIT, xLabel: `Others predicted as ${short(name, 34)}`, yLabel: `${short(name, 26)} detected` });
      const places = Array.from(curve.fpr, (x, i) => [x, curve.tpr[i]]);
      plane.layer("curves").replaceChildren(
        line(plane, "thin dashed", [[0, 0], [1, 1]]),
        line(plane, "hull", curve.hull.map((i) => places[i])),
        line(plane, "line one", places));
    },
    show({ labels, positive, curve }, { counts }, costs) {
      const name = labels[positive];
      const point = operating(counts, positive);
      const parts = [];
      if (labels.length === 2 && point.length === 1) {
        const slope = equalCost(counts, costs, positive);
        const [x, y] = point[0];
        if (Number.isFinite(slope)) parts.push(line(plane, "thin", [[0, y - slope * x], [1, y + slope * (1 - x)]]));
      }
      if (point.length === 2) parts.push(line(plane, "between", point));
      plane.layer("chosen").replaceChildren(...parts, ...point.filter(([x, y]) => Number.isFinite(x + y)).map(([x, y]) => mark(plane, x, y)));
      const [[fpr, tpr]] = point;
      plane.description.textContent = `${name} against the rest: area ${digits(curve.area)}, of the hull ${digits(curve.hull_area)}. `
        + `${percent(tpr)} of ${name} are predicted so, and ${percent(fpr)} of the others.`;
    },
  };
}

/** [false, true positive rate] of the decisions; of two classes also with the rejected rows added. */
function operating(counts, positive) {
  let [tp, fp, up, down, positives, others] = [0, 0, 0, 0, 0, 0];
  const k = counts.length;
  counts.forEach((row, i) => {
    const whole = row.reduce((a, b) => a + b, 0);
    if (i === positive) { tp += row[positive]; up += row[k]; positives += whole; }
    else { fp += row[positive]; down += row[k]; others += whole; }
  });
  const first = [fp / others, tp / positives];
  return k === 2 && up + down ? [first, [(fp + down) / others, (tp + up) / positives]] : [first];
}

/** Slope of the lines of equal cost: cost of negatives taken for positives over the contrary. */
function equalCost(counts, costs, positive) {
  const other = 1 - positive;
  const sum = (row) => row.reduce((a, b) => a + b, 0);
  return (costs[other][positive] * sum(counts[other])) / (costs[positive][other] * sum(counts[positive]));
}

/** Mean cost of predicted rows against their fraction, least uncertain first. */
export function coverage() {
  const plane = new Plane({ label: "Risk against coverage", ...SIZE });
  return {
    plane,
    show(_, totals, curve) {
      const top = Math.max(...curve.risk, totals.risk ?? 0, 1e-9);
      plane.range({ x: UNIT, y: [-0.02 * top, 1.08 * top], xLabel: "Coverage: fraction of rows predicted", yLabel: "Risk: mean cost of them" });
      const places = curve.coverage.map((x, i) => [x, curve.risk[i]]);
      const parts = [line(plane, "line one", places)];
      if (totals.risk !== null) {
        parts.push(line(plane, "thin dashed", [[totals.coverage, 0], [totals.coverage, totals.risk], [0, totals.risk]]));
        parts.push(mark(plane, totals.coverage, totals.risk));
      }
      plane.layer("curves").replaceChildren(...parts);
      plane.description.textContent = `${percent(totals.coverage)} of the rows are predicted at a mean cost of ${digits(totals.risk)}; `
        + `all of them would cost ${digits(curve.risk.at(-1))} each. Area ${digits(curve.area)}.`;
    },
  };
}

const BARS = 25;

/** Observed frequency against probability, over a histogram of the probabilities by decision. */
export function calibration() {
  const plane = new Plane({ label: "Calibration", ...SIZE });
  return {
    plane,
    /** What no cost changes. */
    base({ labels, positive, bins }) {
      plane.range({ x: UNIT, y: UNIT, xLabel: `Probability of ${short(labels[positive], 36)}`, yLabel: "Observed frequency" });
      const places = bins.predicted.map((x, i) => [x, bins.observed[i]]);
      plane.layer("bars", { class: "bars" });
      plane.layer("edges");
      plane.layer("curves").replaceChildren(
        line(plane, "thin dashed", [[0, 0], [1, 1]]), line(plane, "line one", places),
        ...places.map(([x, y], i) => svg("circle", { class: "bin", cx: plane.px(x), cy: plane.py(y), r: 2.5 + 7 * Math.sqrt(bins.weight[i]) })));
    },
    show({ labels, positive, bins, p, k }, decision, between) {
      const name = labels[positive];
      const stacks = Array.from({ length: BARS }, () => [0, 0, 0]);
      decision.forEach((j, r) => {
        const bar = Math.min(BARS - 1, Math.floor(p[r * k + positive] * BARS));
        stacks[bar][j === positive ? 0 : j === k ? 1 : 2] += 1;
      });
      const most = Math.max(...stacks.map(([a, b, c]) => a + b + c));
      const bars = stacks.flatMap((stack, i) => {
        let base = 0;
        return stack.map((count, part) => {
          const low = base;
          base += (0.3 * count) / most;
          return count && svg("rect", {
            class: ["own", "rejected", "other"][part], x: plane.px(i / BARS) + 0.5, width: plane.px(1 / BARS) - plane.px(0) - 1,
            y: plane.py(base), height: plane.py(low) - plane.py(base),
          });
        }).filter(Boolean);
      });
      const edges = between ? [...new Set(between)].map((t) => line(plane, "cut", [[t, 0], [t, 1]])) : [];
      plane.layer("bars").replaceChildren(...bars);
      plane.layer("edges").replaceChildren(...edges);
      plane.description.textContent = `Probability and frequency of ${name} differ by ${percent(bins.error)} on average.`
        + (between ? ` ${cuts(between, name)}` : "");
    },
  };
}

function cuts([low, high], name) {
  return low === high
    ? `${name} is predicted from a probability of ${digits(low)}.`
    : `Rows with a probability of ${name} between ${digits(low)} and ${digits(high)} are rejected.`;
}

/** Follow a pointer that is pressed on a picture: move([x, y]) in units of its axes, then rest(). */
export function dragged(plane, move, rest) {
  let dragging = false;
  const end = () => { if (dragging) rest(); dragging = false; };
  plane.svg.classList.add("dragged");
  plane.svg.addEventListener("pointerdown", (event) => {
    dragging = true;
    plane.svg.setPointerCapture(event.pointerId);
    move(plane.at(event));
  });
  plane.svg.addEventListener("pointermove", (event) => { if (dragging) move(plane.at(event)); });
  plane.svg.addEventListener("pointerup", end);
  plane.svg.addEventListener("pointercancel", end);
}
