// Models of the view, their sliders and choices, and the sentence that says what is drawn.

export const MODELS = [
  ["svm", "Support vector machine"], ["logistic", "Logistic regression"],
  ["lda", "Linear discriminant"], ["qda", "Quadratic discriminant"], ["rda", "Regularized discriminant"],
  ["bayes", "Gaussian naive Bayes"], ["neighbors", "Nearest neighbors"], ["vote", "Kernel vote"],
  ["exemplar", "Nearest exemplar"], ["perceptron", "Perceptron"], ["boxes", "Boxes S and G"],
  ["process", "Gaussian process"],
];

const C = { name: "C", label: "C, the cost of an error", low: 0.01, high: 100, start: 1, log: true, steps: 400 };
const h = { name: "h", label: "Bandwidth, in standard deviations", low: 0.1, high: 5, start: 0.8, log: true };
const kernel = { name: "kernel", label: "Kernel", options: [["rbf", "Gaussian"], ["linear", "Linear"]] };

/** Controls of each model: sliders, and choices (those with options). */
export const CONTROLS = {
  svm: [kernel, C, { ...h, only: (state) => state.kernel !== "linear" }],
  logistic: [{ ...C, label: "C, one over the penalty" },
    { name: "l1", label: "Penalty", options: [[0, "Ridge"], [0.5, "Elastic net, half and half"], [1, "Lasso"]] }],
  lda: [], qda: [], bayes: [],
  rda: [{ name: "alpha", label: "α, from own to common covariance", low: 0, high: 1, start: 0.5 },
    { name: "beta", label: "β, from there to a sphere", low: 0, high: 1, start: 0 }],
  neighbors: [{ name: "k", label: "k, neighbors that vote", low: 1, high: 50, start: 5, whole: true }],
  vote: [h],
  exemplar: [{ name: "exemplar", label: "Exemplar of a class", options: [["mean", "Mean"], ["medoid", "Medoid"]] }],
  perceptron: [{ name: "epochs", label: "Epochs at most", low: 1, high: 200, start: 20, whole: true }],
  boxes: [{ name: "hypothesis", label: "Box that predicts", options: [["average", "Average of S and G"], ["specific", "S, most specific"], ["general", "Common to all of G"]] }],
  process: [h],
};

const NORMAL = "shaded by the probability of its class. Ellipses: each class at one and two standard deviations.";

const SHADED = {
  logistic: "shaded by the probability of its class. The penalty is on standardized columns.",
  lda: NORMAL, qda: NORMAL, rda: NORMAL, bayes: NORMAL,
  neighbors: "shaded by its share of the k votes, distances in standard deviations. Thin lines: the cell of each point, where it is the nearest; strong ones part cells of two classes, the boundary for k = 1.",
  vote: "shaded by its share of the votes of all points, weighted by exp(−d²/2h²).",
  exemplar: "where its exemplar is nearest, distances in standard deviations.",
  perceptron: "on its side of f = 0, columns standardized.",
  boxes: "as the boxes predict. Of each class: S, the smallest box (solid), and G, the largest boxes that leave the others out (dashed).",
  process: "shaded by the probability of its class, with f of variance 4.",
};

/** Of models without sliders, by the kind of values. */
const PLAIN = {
  probabilities: "shaded by the probability of its class.", classes: "as the model predicts.",
  pairs: "on its side of f = 0.", scores: "whose score is largest.",
};

/** What one sees, in a sentence or two. */
export function caption({ model, pair }, { classes, labels, projected, field }) {
  const plane = projected ? "A projection: the plane of all columns of numbers that separates the classes best; models are fitted on it, and points are moved within it. " : "";
  if (!field.support) return `${plane}Each region is of one class, ${SHADED[model] ?? PLAIN[field.kind]}`;
  const several = classes.length > 2;
  const [a, b] = several ? field.pairs[pair] ?? [] : field.pairs[0];
  const lines = a === undefined
    ? "The lines are where the vote of the pairs of classes changes; choose a pair for its f = ±1."
    : `Solid: f = 0${several ? ` of ${labels[classes[a]]} against ${labels[classes[b]]}` : ""}; dashed: f = ±1.`;
  return `${plane}Shaded by the score f of the class, up to the margin at 1. ${lines} Ringed: support vectors. Columns are standardized.`;
}
