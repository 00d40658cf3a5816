// The decision of least expected cost, as probability/costs.py makes it:
//   expected(j) = Σᵢ pᵢ · cost[i][j],     expected(reject) = Σᵢ pᵢ · reject
// The first of equally cheap classes is predicted; a rejection must be cheaper than all of them.

/** Decisions of n rows (K stands for a rejection), their best class and its expected cost. */
export function decide({ p, truth, k }, costs, reject) {
  const n = truth.length;
  const decision = new Int32Array(n);
  const best = new Int32Array(n);
  const expected = new Float64Array(n);
  for (let r = 0; r < n; r += 1) {
    let least = Infinity;
    for (let j = 0; j < k; j += 1) {
      let sum = 0;
      for (let i = 0; i < k; i += 1) sum += p[r * k + i] * costs[i][j];
      if (sum < least) { least = sum; best[r] = j; }
    }
    expected[r] = least;
    decision[r] = best[r];
    if (reject !== null) {
      let sum = 0;
      for (let i = 0; i < k; i += 1) sum += p[r * k + i] * reject;
      if (sum < least) decision[r] = k;
    }
  }
  return { decision, best, expected };
}

/** What decisions come to: counts by class and decision (K × K + 1), and their cost. */
export function outcome({ truth, k }, decision, costs, reject) {
  const counts = Array.from({ length: k }, () => new Int32Array(k + 1));
  decision.forEach((j, r) => { counts[truth[r]][j] += 1; });
  let [total, predicted, wrong, paid] = [0, 0, 0, 0];
  counts.forEach((row, i) => row.forEach((count, j) => {
    const cost = count * (j < k ? costs[i][j] : reject ?? 0);
    total += cost;
    if (j === k) return;
    predicted += count;
    paid += cost;
    if (i !== j) wrong += count;
  }));
  const n = truth.length;
  return {
    counts, n, total, predicted, wrong, rejected: n - predicted, mean: total / n,
    coverage: predicted / n, risk: predicted ? paid / predicted : null, error: predicted ? wrong / predicted : null,
  };
}

/** Risk against coverage, as probability/coverage.py has it: rows of equal uncertainty go together. */
export function coverageRisk({ truth }, { best, expected }, costs) {
  const n = truth.length;
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort((a, b) => expected[a] - expected[b]);
  const [thresholds, coverage, risk] = [[], [], []];
  let [sum, area, before] = [0, 0, 0];
  for (let i = 0; i < n; i += 1) {
    const r = order[i];
    sum += costs[truth[r]][best[r]];
    if (i + 1 < n && expected[order[i + 1]] === expected[r]) continue;
    thresholds.push(expected[r]);
    coverage.push((i + 1) / n);
    risk.push(sum / (i + 1));
    area += ((i + 1) / n - before) * risk.at(-1);
    before = (i + 1) / n;
  }
  return { thresholds, coverage, risk, area };
}

/** The class that would cost least if it were predicted for all rows, and its mean cost. */
export function constant({ truth, k }, costs) {
  const sums = Array.from({ length: k }, (_, j) => truth.reduce((sum, i) => sum + costs[i][j], 0));
  const at = sums.indexOf(Math.min(...sums));
  return { at, mean: sums[at] / truth.length };
}

/**
 * Of two classes: the probabilities of `positive` between which rows are rejected; low = high is
 * the threshold where none is.
 */
export function thresholds(costs, reject, positive) {
  const other = 1 - positive;
  const [fp, fn] = [costs[other][positive], costs[positive][other]];
  const middle = fp + fn > 0 ? fp / (fp + fn) : 0.5;
  if (reject === null) return [middle, middle];
  const [low, high] = [fn > 0 ? reject / fn : 1, fp > 0 ? 1 - reject / fp : 0];
  return low < high ? [low, high] : [middle, middle];
}

/** The cost of a rejection at which this fraction of rows is predicted, or a little more. */
export function costAt({ thresholds: uncertainty, coverage }, fraction) {
  const index = coverage.findIndex((c) => c >= fraction);
  const at = index < 0 ? coverage.length - 1 : index;
  const next = uncertainty[at + 1] ?? uncertainty[at] + 0.01;
  return Number(((uncertainty[at] + next) / 2).toPrecision(8));
}

/** The threshold of the point of a ROC curve that is nearest to a place. */
export function nearest({ fpr, tpr, thresholds: scores }, x, y) {
  let [best, least] = [0, Infinity];
  fpr.forEach((u, i) => {
    const distance = (u - x) ** 2 + (tpr[i] - y) ** 2;
    if (distance < least) [best, least] = [i, distance];
  });
  return (scores[best] + (scores[best + 1] ?? 0)) / 2;
}
