"""The result of a study: everything that the leaderboard, ``result.json`` and the report show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.conformal.base import category_quantiles, check_level, rows_needed
from separatrix.discriminant.covariance_tests import BoxTest, MardiaTest
from separatrix.messages import InputError
from separatrix.notebook import Item, Shown
from separatrix.probability.costs import Costs
from separatrix.probability.decision_surface import DecisionFunctionSurface, DecisionSurface
from separatrix.rows.profile import ColumnProfile
from separatrix.study.description import ModelDescription, RegularizationPath


@dataclass(frozen=True)
class CrossValidatedScore:
    """A metric on every fold, its mean over them, and the standard error of that mean."""

    metric: str
    folds: tuple[float, ...]
    mean: float
    standard_error: float


@dataclass(frozen=True)
class Entry:
    """One line of the leaderboard: a candidate and its cross-validated error.

    ``metric`` is what candidates are ranked by: for classes the log loss. ``secondary`` is their
    other metric, the error rate (the other way round with ``metric="error"``).
    ``hyperparameters`` are the tuned ones, a value for each fold. ``calibrated`` names the
    calibration of a candidate without probabilities of its own, or of one that it improves;
    ``note`` says why a candidate has no score.
    """

    name: str
    label: str
    metric: str
    folds: tuple[float, ...]
    mean: float
    standard_error: float
    hyperparameters: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    note: str = ""
    secondary: CrossValidatedScore | None = None
    calibrated: str | None = None


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences of losses, and its standard error."""

    mean: float
    standard_error: float


@dataclass(frozen=True)
class Choice:
    """The winner, the ``rule`` and ``metric`` that chose it, and why.

    The rule is ``"one_se"`` for simplicity and ``"best"`` for accuracy. ``best`` has the least
    loss; ``other_rule_winner`` is what the other goal would have taken, and ``other`` its line of
    the leaderboard, where it is another model. ``differences`` of every candidate are those from
    the best.
    """

    winner: str
    rule: str
    metric: str
    reason: str
    best: str = ""
    other_rule_winner: str = ""
    differences: dict[str, Difference] = field(default_factory=dict)
    other: Entry | None = None

    @property
    def goal(self) -> str:
        """What was aimed at: "simplicity" or "accuracy"."""
        return "simplicity" if self.rule == "one_se" else "accuracy"

    @property
    def other_goal(self) -> str:
        """The goal that was not aimed at."""
        return "accuracy" if self.rule == "one_se" else "simplicity"


@dataclass(frozen=True)
class Predictions:
    """Rows that the model was not fitted to: their numbers, target, predictions, scores, weights.

    ``predicted`` may be a rejection (:attr:`Decision.reject_label`). ``probabilities`` has a column
    for each of ``Study.classes``, as the stored model gives them: after any calibration.
    ``uncalibrated`` are the model's own, where a calibration changed them. ``intervals`` (lower and
    upper ends, of the level in :attr:`Uncertainty.level`) are those of predictive distributions.
    """

    rows: Any
    truth: Any
    predicted: Any
    scores: Floats | None = None
    w: Floats | None = None
    probabilities: Floats | None = None
    uncalibrated: Floats | None = None
    intervals: Floats | None = None


@dataclass(frozen=True)
class ScoresOfClass:
    """One class against all others on the test set.

    ``support`` is the weight of its rows, ``predicted`` that of the rows called so. What is not
    defined is NaN: the precision of a class that is never predicted, the recall of one without
    rows.
    """

    label: str
    precision: Score
    recall: Score
    f1: Score
    auc: Score
    support: float
    predicted: float


@dataclass(frozen=True)
class TrainingRows:
    """What pictures need of (some of) the training rows, without the features themselves.

    ``names`` are the columns of the design matrix and ``scale`` their standard deviations;
    ``scores`` are those of a classifier; ``rows`` are the row numbers in the table.
    """

    y: Any
    w: Floats | None = None
    names: tuple[str, ...] = ()
    predicted: Any = None
    scores: Floats | None = None
    rows: Any = None
    scale: Floats | None = None
    leverage: Floats | None = None
    probabilities: Floats | None = None


@dataclass(frozen=True)
class CalibrationCheck:
    """Whether a calibration of the winner's scores lowers the cross-validated log loss.

    Each fold is calibrated by a map learned on the out-of-fold scores of the others. ``method`` is
    the calibration of the stored model, None where its own probabilities are used. ``before`` is
    the cross-validated log loss without it, ``after`` with it; ``methods`` holds that of every
    method tried. ``gain`` is the mean of the paired differences before − after, ``gain_error`` its
    standard error. ``ece_before`` and ``ece_after`` are expected calibration errors (of the
    probability of the predicted class, ten bins), over all folds together.
    """

    method: str | None
    before: CrossValidatedScore
    after: CrossValidatedScore
    ece_before: float
    ece_after: float
    gain: float
    gain_error: float
    methods: dict[str, CrossValidatedScore] = field(default_factory=dict)
    summary: str = ""


@dataclass(frozen=True)
class Decision:
    """Misclassification costs, and how decisions of least expected cost did on the test set.

    ``costs.matrix[i, j]``: the truth is class i, the answer j; the cost of a rejection is None
    where it is not an option. ``reject_label`` is the answer of a rejection. ``coverage`` is the
    fraction of rows that are not rejected, ``risk`` the mean cost of those; ``cost`` that of all
    rows, rejections included; ``cost_without`` that of predicting the most probable class instead.
    """

    costs: Costs
    reject_label: str
    cost: Score
    coverage: Score
    risk: Score
    cost_without: Score


@dataclass(frozen=True)
class CovarianceTests:
    """Tests of normality and of equal covariances of the classes, on the training rows.

    ``normality`` holds Mardia's test by class, ``not_tested`` the reason for a class without one;
    ``equality`` is Box's M test, None where it cannot be computed. ``favored`` is "shared" (one
    covariance matrix: LDA), "full" (one for each class: QDA), or "none" (not normal: logistic
    regression assumes less); ``summary`` says so, and why. ``columns`` are the numeric ones that
    vary.
    """

    normality: dict[str, MardiaTest]
    not_tested: dict[str, str]
    equality: BoxTest | None
    favored: str
    summary: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Margins:
    """Dual coefficients and scores of a binary SVM on (some of) its training rows.

    ``alpha`` is the dual coefficient of each row and ``bound`` its largest possible value; ``y``
    are the classes. ``plane`` is None where fewer than two numeric columns vary.
    """

    alpha: Floats
    bound: Floats
    y: Any
    scores: Floats
    plane: DecisionFunctionSurface | None


@dataclass(frozen=True)
class LearningCurve:
    """Error against amount of training data: one row of ``train`` and ``validation`` per size."""

    sizes: tuple[int, ...]
    train: Floats
    validation: Floats
    metric: str


@dataclass(frozen=True, repr=False)
class Study(Shown):
    """A comparison of models: the winner, fitted to all training rows, and its test scores.

    Attributes
    ----------
    source, target, task, seed, test_fraction : the table, and how it was split.
    n_train, n_test : rows of the training and of the test set.
    columns : profile of every column.
    leaderboard : the candidates, simplest first.
    winner, reason : the chosen candidate, and why it was chosen.
    choice : the rule and the metric that chose, and what the other rule would have taken.
    test, baseline_test : scores on the test set, of the winner and of the baseline.
    model : the fitted estimator. None in a stored study, whose model is beside it.
    description : what pages show of the model.
    messages : what was inferred, each with its reason and how to override it.
    warnings : warnings of the last fit, with their codes.
    classes : class labels in order; empty for regression.
    test_predictions : predictions on the test set; None if the rows were not stored.
    out_of_fold : cross-validated predictions of two classes, fold by fold.
    learning_curve : error by number of training rows.
    training : the training rows, for pictures.
    command : the command that gives this study again.
    ridge_path : path of ridge regression on the training rows, beside a winner without penalty.
    calibration, decision, covariance_tests, decision_surface : of classifiers; None where there is
    no
        such thing.
    margins : of binary support vector machines.
    class_scores : precision, recall, F1 and AUC of each class on the test set.
    importance : how much worse the model predicts test rows without each column.
    dependence : mean prediction over the values of the most important columns.
    distributions, correlations : of the columns, on the training rows.
    pairs : training rows of few numeric columns, for pictures.
    uncertainty : predictive distributions on rows the model was not fitted to; None without any.
    conformal : what conformal intervals and sets are made from; None of a study from moments.
    digest : of the content of all rows in any order, for ``verify``; empty where none was made.
    validation : "folds", "leave_one_out" (one row, or one group, at a time) or "time".
    repeats, nested : the comparison on several sets of folds, and the selection judged by an outer
        loop; None where they were not asked for.
    stream : passes and sums of a table of classes that is not in memory; None of one that is.
    class_weights : what a training row of each class counts for; empty where all count the same.
    references : the distribution of every column of the training rows, to compare new rows with.
    row_names : what identifies the rows, by number, where a column of texts does; not in the model
        files that the command writes.
    """

    source: str
    target: str
    task: str
    seed: int
    test_fraction: float
    n_train: int
    n_test: int
    columns: tuple[ColumnProfile, ...]
    leaderboard: tuple[Entry, ...]
    winner: str
    reason: str
    test: tuple[Score, ...]
    baseline_test: tuple[Score, ...]
    model: Any
    description: ModelDescription
    messages: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    test_predictions: Predictions | None = None
    out_of_fold: tuple[Predictions, ...] = ()
    learning_curve: LearningCurve | None = None
    training: TrainingRows | None = None
    command: str = ""
    ridge_path: RegularizationPath | None = None
    calibration: CalibrationCheck | None = None
    decision: Decision | None = None
    covariance_tests: CovarianceTests | None = None
    decision_surface: DecisionSurface | None = None
    margins: Margins | None = None
    choice: Choice | None = None
    reference: Entry | None = None
    class_scores: tuple[ScoresOfClass, ...] = ()
    importance: ColumnImportance | None = None
    dependence: tuple[PartialDependence, ...] = ()
    distributions: tuple[ColumnDistribution, ...] = ()
    correlations: ColumnCorrelations | None = None
    pairs: ColumnPairs | None = None
    uncertainty: Uncertainty | None = None
    conformal: Calibration | None = None
    digest: str = ""
    validation: str = "folds"
    repeats: Repeats | None = None
    nested: Nested | None = None
    stream: StreamRecord | None = None
    class_weights: tuple[float, ...] = ()
    references: tuple[ColumnReference, ...] = ()
    row_names: dict[int, str] = field(default_factory=dict)

    def _display(self) -> list[Item]:
        from separatrix.study.summary import display

        return display(self)


# -------------------------------------------------------------------------------------------------
# A measured quantity with its interval.


@dataclass(frozen=True)
class Score:
    """A measured quantity with its 95 % interval."""

    metric: str
    value: float
    low: float
    high: float


# -------------------------------------------------------------------------------------------------
# What a study of a stream records of its reading: passes, samples, sums of the test part.


@dataclass(frozen=True)
class StreamRecord:
    """Passes over the rows and why, rows of the samples, and sums over the whole test part.

    ``confusion`` holds weights by true class (the last row: a class that training does not have)
    and answer (the last column: a rejection). ``reliability`` holds, for ten equal bins of the
    probability of the predicted class, the mean probability, the frequency of right answers and
    the weight. ``auc_resolution`` is what ties of ranked scores may change of an area under a
    ROC curve. ``simulated`` rows stand for those of which there are only moments.
    """

    reason: str
    n_passes: int
    n_sampled: int
    n_test_sampled: int
    confusion: Floats
    reliability: Floats
    brier: float
    auc_resolution: float
    simulated: bool = False

    @property
    def sentence(self) -> str:
        """How the rows were read."""
        if self.simulated:
            return "Read from moments: no pass over the rows."
        return f"Read as a stream: {self.n_passes} passes."


# -------------------------------------------------------------------------------------------------
# What a study shows of predictive distributions: records, filled in by ``study/numbers``.


#: Level of the intervals beside predictions, unless another is requested.
LEVEL = 0.95
#: Levels whose coverage on the test set is measured.
TEST_LEVELS = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class PredictiveCheck:
    """Training rows, each under the predictive distribution of a model that was not fitted to it.

    ``mean`` is the predicted value, ``residuals`` are (y − m)/s, and ``pit`` is F(y), the
    probability of a smaller target. ``rows`` are the row numbers in the table; of a large table
    they are an even selection.
    """

    rows: Any
    mean: Floats
    residuals: Floats
    pit: Floats
    w: Floats | None = None


@dataclass(frozen=True)
class IntervalScore:
    """Intervals of one level on the test set: the proportion of targets within, the mean width."""

    level: float
    coverage: Score
    width: float


@dataclass(frozen=True)
class PredictiveBand:
    """Predictive mean and intervals along the only column; ``points`` are test rows (x, y)."""

    column: str
    x: Floats
    mean: Floats
    intervals: Floats
    points: Floats
    display: str = ""


@dataclass(frozen=True)
class Uncertainty:
    """Predictive distributions of the chosen model, checked on rows it was not fitted to.

    ``test`` are intervals on the test set, ``log_loss`` the mean negative log predictive density
    there; ``check`` are the training rows out of fold, None where the comparison gave none.
    """

    level: float
    test: tuple[IntervalScore, ...]
    log_loss: Score
    check: PredictiveCheck | None = None
    band: PredictiveBand | None = None


# -------------------------------------------------------------------------------------------------
# What a study stores for conformal intervals and sets: the scores of its test rows.
#
# The model was chosen and fitted without the test rows, so that they calibrate it by split
# conformal prediction: a new row that is drawn as they were is covered with a probability of at
# least the level. Of classes each has a quantile of its own, since the split deals every class by
# itself.


@dataclass(frozen=True)
class CoverageCheck:
    """Test rows covered at a level; each half is calibrated on the other half.

    ``coverage`` has its Clopper–Pearson interval; ``by_class`` is that of the rows of each class of
    which a half suffices. Calibrated by all test rows, ``size`` is the mean width of intervals or
    the mean number of labels in a set, and ``sizes`` how often a set has 0, 1, … labels.
    """

    level: float
    coverage: Score
    size: float
    by_class: dict[str, Score]
    sizes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """Scores of the test rows by the chosen model, which has not seen them.

    ``kind`` is "absolute" (|y − ŷ|), "normalized" (|y − ŷ|/s, s that of the model's predictive
    distribution) or "lac" (1 − p of the class). ``codes`` are the classes of the rows, zeros for
    numbers; ``classes`` are empty for numbers. ``refusal`` says why there is no guarantee, and
    then there are no scores.
    """

    kind: str
    scores: Floats
    codes: Ints
    w: Floats | None = None
    classes: tuple[str, ...] = ()
    checks: tuple[CoverageCheck, ...] = ()
    refusal: str = ""

    @property
    def n(self) -> int:
        """How many rows calibrate."""
        return len(self.scores)

    def quantiles(self, level: float) -> Floats:
        """The quantile of the scores; of classes, one for each."""
        if self.refusal:
            raise InputError(f"No conformal intervals: {self.refusal}")
        count = max(1, len(self.classes))
        exact = check_level(level)
        return category_quantiles(self.scores, self.w, self.codes, count, exact)[:-1]

    def intervals(self, model: Any, rows: Any, level: float) -> Floats:
        """Lower and upper ends (n x 2) around the predictions of the model."""
        q = float(self.quantiles(level)[0])
        center, scale = center_and_scale(model, rows, self.kind)
        reach = np.full(len(center), np.inf) if np.isinf(q) else q * scale
        return np.stack([center - reach, center + reach], axis=1)

    def sets(self, model: Any, rows: Any, level: float) -> NDArray[np.bool_]:
        """Which classes of the model are in the set of every row (n x K)."""
        at = {name: i for i, name in enumerate(self.classes)}
        q = self.quantiles(level)
        known = [str(label) for label in model.classes_]
        limits = np.array([q[at[name]] if name in at else np.inf for name in known])
        return np.asarray(1.0 - model.predict_proba(rows) <= limits)

    def sentence(self, level: float) -> str:
        """What is guaranteed at a level, and under which condition."""
        percent = f"{100 * level:.6g} %"
        what = (
            "label of a new row is in its set"
            if self.classes
            else "target of a new row is in its interval"
        )
        whatever = ", whatever the label" if self.classes else ""
        return (
            f"The {what} with a probability of at least {percent}{whatever}, if the row is drawn "
            f"as the {self.n} test rows were, which the model has not seen (conformal prediction)."
        )

    def remarks(self, level: float) -> list[str]:
        """What is guaranteed, and what is without bounds since there are too few test rows."""
        lacking, needed = np.isinf(self.quantiles(level)), rows_needed(level)
        sentences = [self.sentence(level)]
        if lacking.any() and not self.classes:
            sentences.append(
                f"Intervals are infinite: {needed} test rows are needed, and there are {self.n}."
            )
        elif lacking.any():
            names = ", ".join(repr(c) for c, at in zip(self.classes, lacking, strict=True) if at)
            sentences.append(
                f"A class with fewer than {needed} test rows is in every set: {names}."
            )
        return sentences


def center_and_scale(model: Any, rows: Any, kind: str) -> tuple[Floats, Floats]:
    """Predictions, and what a score of one is at each of them."""
    if kind == "normalized":
        predictive_distribution = model.predictive(rows)
        return predictive_distribution.mean, np.maximum(
            predictive_distribution.scale, np.finfo(float).tiny
        )
    center = np.asarray(model.predict(rows), dtype=float)
    return center, np.ones(len(center))


# -------------------------------------------------------------------------------------------------
# What a study stores of its columns: importance, partial dependence, histograms, correlations.


@dataclass(frozen=True)
class ColumnImportance:
    """Permutation importance on test rows, the most important column first.

    ``increase[j]`` is the mean rise of the ``loss`` of a row when column j is permuted among the
    rows, ``low`` and ``high`` its 95 % interval; ``base`` is the mean loss before. ``n_columns`` is
    the number of columns of the table: ``columns`` are fewer where only those were measured that
    change predictions most.
    """

    columns: tuple[str, ...]
    increase: Floats
    low: Floats
    high: Floats
    loss: str
    base: float
    n_rows: int
    n_repeats: int
    n_columns: int


@dataclass(frozen=True)
class PartialDependence:
    """Mean prediction over rows in which one column is set to each of several values.

    The values are numbers (``values``) or ``levels``, the other of the two is empty. ``average``
    has a row for each value and a column for each of ``outputs``: classes, or the target.
    ``individual`` are the curves of single rows (rows x values), of the last output. ``scale`` says
    what is averaged: "prediction", "probability", or "proportion" of rows predicted so.
    ``deciles`` are those of the column, ``display`` how its numbers are written (years, dates).
    """

    column: str
    values: Floats
    levels: tuple[str, ...]
    average: Floats
    individual: Any
    outputs: tuple[str, ...]
    scale: str
    deciles: Floats
    n_rows: int
    display: str = ""


@dataclass(frozen=True)
class ColumnReference:
    """What is kept of a column of the training rows: ``count`` of them, ``missing`` without value.

    Of numbers, ``proportions`` of rows up to and including each of ``values``, of which the first
    and the last are the range; of levels, ``levels`` and their ``proportions``.
    """

    name: str
    kind: str
    count: int
    missing: int
    values: Floats
    proportions: Floats
    levels: tuple[str, ...] = ()
    display: str = ""


@dataclass(frozen=True)
class ColumnDistribution:
    """Training rows by the value of one column: in bins between ``edges``, or by level.

    ``counts`` has a row for each bin or level and a column for each of ``classes`` (one column
    without classes). ``mean`` and ``deviation`` are those of a numeric target in each bin, None for
    classes and for the target itself. ``missing`` rows have no value, ``outside`` are beyond the
    edges, or of levels that are not listed; ``display`` is how numbers are written (years, dates).
    """

    column: str
    edges: Floats
    levels: tuple[str, ...]
    counts: Floats
    classes: tuple[str, ...] = ()
    mean: Floats | None = None
    deviation: Floats | None = None
    missing: int = 0
    outside: int = 0
    display: str = ""


@dataclass(frozen=True)
class ColumnCorrelations:
    """Pearson correlations of numeric columns on the training rows, pairwise complete.

    ``n_columns`` is the number of numeric columns that vary, of which these are some.
    """

    columns: tuple[str, ...]
    matrix: Floats
    n_columns: int
    n_rows: int


@dataclass(frozen=True)
class ColumnPairs:
    """Rows (n x k) of the k numeric columns of a table that has few, NaN where a value is missing.

    ``codes`` are the classes of the rows; zeros where the target is numeric.
    """

    columns: tuple[str, ...]
    rows: Floats
    codes: Ints


# -------------------------------------------------------------------------------------------------
# What repeats and nested selection found: plain numbers, as files and pages hold them.


@dataclass(frozen=True)
class RepeatedScore:
    """The score of a candidate over repeats, and its paired difference from the winner.

    ``spread`` is the standard deviation of ``by_repeat``: how much the folds matter.
    ``corrected_error`` is the standard error of the mean over all folds of all repeats by Nadeau
    and Bengio, √((1/J + n_test/n_train) s²), which counts that training rows are shared;
    ``difference`` (of fold scores, candidate − winner) has its own. NaN where folds follow one
    another in time. ``chosen`` counts the repeats that would have chosen the candidate.
    """

    name: str
    by_repeat: tuple[float, ...]
    mean: float
    spread: float
    corrected_error: float
    difference: float
    difference_error: float
    chosen: int


@dataclass(frozen=True)
class Repeats:
    """Candidates compared on several sets of folds; ``ratio`` is n_test/n_train of a fold."""

    metric: str
    n_repeats: int
    n_folds: int
    ratio: float
    scores: tuple[RepeatedScore, ...]
    summary: str


@dataclass(frozen=True)
class OuterFold:
    """One outer fold: what was chosen without it, its score inside, and its score here."""

    winner: str
    inner: float
    outer: float
    n_rows: int
    hyperparameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Nested:
    """The score of the whole selection on rows that had no part in it.

    ``outer`` is the score over all outer rows, ``standard_error`` its own; ``inner`` the mean of
    the scores by which winners were chosen. ``optimism`` says how much better the inner score looks
    (positive: too good). ``chosen`` counts outer folds by winner.
    """

    metric: str
    outer: float
    standard_error: float
    inner: float
    optimism: float
    folds: tuple[OuterFold, ...]
    chosen: dict[str, int]
    summary: str
