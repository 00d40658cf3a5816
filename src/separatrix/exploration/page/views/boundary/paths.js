// Paths that the page follows by itself. Each has at(value) → {values} at all places: the cells of
// the grid, then the points. Values lie one after another for each class, or pair of classes.

import { unpack } from "../../server.js";

/** Places as two arrays: cells row by row from the lowest, then points [x, y, x, y, …]. */
export function places([columns, rows], [[x0, x1], [y0, y1]], points) {
  const cells = columns * rows;
  const n = cells + points.length / 2;
  const [x, y] = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0; i < cells; i += 1) {
    x[i] = x0 + ((i % columns) / (columns - 1)) * (x1 - x0);
    y[i] = y0 + (Math.floor(i / columns) / (rows - 1)) * (y1 - y0);
  }
  for (let i = cells; i < n; i += 1) {
    x[i] = points[2 * (i - cells)];
    y[i] = points[2 * (i - cells) + 1];
  }
  return { x, y, cells, n, columns, rows };
}

/** The last place of `sorted` that is not above `value`. */
function segment(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}

/** Columns κ(xᵢ, places) of a kernel, computed when they are first needed. */
class Columns {
  constructor({ kernel, gamma, mean, scale }, at) {
    Object.assign(this, { linear: kernel === "linear", gamma, at });
    const standard = (v, c) => v.map((u) => (u - mean[c]) / scale[c]);
    [this.x, this.y] = [standard(at.x, 0), standard(at.y, 1)];
    this.known = new Map();
  }

  of(i) {
    if (!this.known.has(i)) this.known.set(i, this.#compute(this.x[this.at.cells + i], this.y[this.at.cells + i]));
    return this.known.get(i);
  }

  #compute(x, y) {
    const { columns, rows, cells, n } = this.at;
    const entries = new Float32Array(n);
    if (this.linear) {
      for (let j = 0; j < n; j += 1) entries[j] = x * this.x[j] + y * this.y[j];
      return entries;
    }
    // a Gaussian of two coordinates is the product of one for each: the grid needs few of them
    const across = new Float64Array(columns);
    for (let c = 0; c < columns; c += 1) across[c] = Math.exp(-this.gamma * (x - this.x[c]) ** 2);
    for (let r = 0; r < rows; r += 1) {
      const up = Math.exp(-this.gamma * (y - this.y[r * columns]) ** 2);
      for (let c = 0; c < columns; c += 1) entries[r * columns + c] = up * across[c];
    }
    for (let j = cells; j < n; j += 1) {
      entries[j] = Math.exp(-this.gamma * ((x - this.x[j]) ** 2 + (y - this.y[j]) ** 2));
    }
    return entries;
  }
}

/** One binary SVM along C: f = b + C Σ over bound rows of yκ + Σ over free rows of αyκ. */
class Trace {
  constructor(given, columns) {
    for (const [name, value] of Object.entries(given)) this[name] = name === "pair" ? value : unpack(value);
    Object.assign(this, { columns, state: Int32Array.from(this.origin), passed: 0 });
    this.before = new Int32Array(this.when.length);
    this.bound = new Float64Array(columns.at.n);
    this.#sum();
  }

  #sum() {
    this.bound.fill(0);
    this.state.forEach((s, i) => { if (s === 1) this.#add(i, 1); });
  }

  #add(i, sign) {
    const column = this.columns.of(this.rows[i]);
    const factor = sign * this.y[i];
    for (let j = 0; j < column.length; j += 1) this.bound[j] += factor * column[j];
  }

  #put(i, state, summing) {
    if (summing && (this.state[i] === 1) !== (state === 1)) this.#add(i, state === 1 ? 1 : -1);
    this.state[i] = state;
  }

  #seek(k) {
    const target = segment(this.when, k) + (this.when.length && this.when[0] <= k ? 1 : 0);
    const summing = Math.abs(target - this.passed) < 200;
    while (this.passed < target) {
      const i = this.row[this.passed];
      this.before[this.passed] = this.state[i];
      this.#put(i, this.states[this.passed], summing);
      this.passed += 1;
    }
    while (this.passed > target) {
      this.passed -= 1;
      this.#put(this.row[this.passed], this.before[this.passed], summing);
    }
    if (!summing) this.#sum();
  }

  /** Write f at all places. */
  write(C, out) {
    const k = segment(this.starts, C);
    this.#seek(k);
    const b = this.b0[k] + C * this.b1[k];
    for (let j = 0; j < out.length; j += 1) out[j] = b + C * this.bound[j];
    for (let p = this.first[k]; p < this.first[k + 1]; p += 1) {
      const i = this.free[p];
      const column = this.columns.of(this.rows[i]);
      const beta = this.y[i] * Math.min(Math.max(this.fixed[p] + C * this.slope[p], 0), C);
      for (let j = 0; j < out.length; j += 1) out[j] += beta * column[j];
    }
  }

  get support() { return Array.from(this.rows).filter((_, i) => this.state[i] !== -1); }
}

export class SvmPath {
  constructor(path, at) {
    const columns = new Columns(path, at);
    this.end = path.end;
    this.n = at.n;
    this.traces = path.traces.map(({ state, ...rest }) => new Trace({ ...rest, states: state }, columns));
    this.values = new Float32Array(this.n * this.traces.length);
  }

  get pieces() {
    const count = this.traces.reduce((sum, t) => sum + t.starts.length, 0);
    return `The slider runs along the exact path: α is linear in C on each of its ${count.toLocaleString("en")} pieces${this.end < 100 ? `, known up to C = ${this.end.toPrecision(3)}` : ""}.`;
  }

  at(C) {
    this.traces.forEach((t, p) => t.write(C, this.values.subarray(p * this.n, (p + 1) * this.n)));
    return { kind: "pairs", pairs: this.traces.map((t) => t.pair), values: this.values, support: this.traces.map((t) => t.support) };
  }
}

/** Coefficients between certified fits, linear in log C. */
export class LogisticPath {
  constructor(path, at) {
    Object.assign(this, { places: at, end: Infinity, classes: path.classes });
    for (const name of ["C", "coefs", "intercepts"]) this[name] = unpack(path[name]);
    this.values = new Float32Array(at.n * path.classes.length);
  }

  get pieces() { return `The slider runs between ${this.C.length} certified fits; coefficients are taken as linear in log C between them.`; }

  at(C) {
    const { x, y, n } = this.places;
    const k = Math.min(segment(this.C, C), this.C.length - 2);
    const t = Math.log(C / this.C[k]) / Math.log(this.C[k + 1] / this.C[k]);
    const between = (array, size, i) => (1 - t) * array[k * size + i] + t * array[(k + 1) * size + i];
    const scores = this.coefs.shape[1];
    const [w, b] = [[], []];
    for (let s = 0; s < scores; s += 1) {
      b.push(between(this.intercepts, scores, s));
      w.push([between(this.coefs, 2 * scores, 2 * s), between(this.coefs, 2 * scores, 2 * s + 1)]);
    }
    const f = new Float64Array(scores);
    for (let j = 0; j < n; j += 1) {
      for (let s = 0; s < scores; s += 1) f[s] = b[s] + w[s][0] * x[j] + w[s][1] * y[j];
      if (scores === 1) {
        this.values[n + j] = 1 / (1 + Math.exp(-f[0]));
        this.values[j] = 1 - this.values[n + j];
      } else {
        const top = Math.max(...f);
        let sum = 0;
        for (let s = 0; s < scores; s += 1) sum += f[s] = Math.exp(f[s] - top);
        for (let s = 0; s < scores; s += 1) this.values[s * n + j] = f[s] / sum;
      }
    }
    return { kind: "probabilities", values: this.values };
  }
}

/** Votes of the k nearest, for every k from one search. */
export class NeighborsPath {
  constructor(path, at) {
    Object.assign(this, { n: at.n, near: unpack(path.near), without: unpack(path.without), k: 0 });
    this.end = this.near.shape[1];
    this.counts = new Float32Array(this.n * path.classes.length);
    this.values = new Float32Array(this.counts.length);
  }

  get pieces() { return `Votes for every k up to ${this.end} come from one search.`; }

  at(k) {
    const { n, near, end, counts, values } = this;
    const [low, high, sign] = this.k < k ? [this.k, k, 1] : [k, this.k, -1];
    for (let j = 0; j < n; j += 1) {
      for (let m = low; m < high; m += 1) counts[near[j * end + m] * n + j] += sign;
    }
    this.k = k;
    for (let i = 0; i < values.length; i += 1) values[i] = counts[i] / k;
    return { kind: "probabilities", values, without: this.without[k - 1] };
  }
}

export const PATHS = {
  svm: { slider: "C", of: SvmPath }, logistic: { slider: "C", of: LogisticPath }, neighbors: { slider: "k", of: NeighborsPath },
};
