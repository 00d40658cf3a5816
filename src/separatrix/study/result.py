"""The result of a study: everything that the leaderboard, ``result.json`` and the report show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from separatrix.discriminant.covariance_tests import BoxTest, MardiaTest
from separatrix.probability.costs import Costs
from separatrix.probability.decision_surface import DecisionFunctionSurface, DecisionSurface
from separatrix.rows.block import Floats
from separatrix.rows.profile import ColumnProfile
from separatrix.study.description import ModelDescription, RegularizationPath
from separatrix.study.explanation.records import (
    ColumnCorrelations,
    ColumnDistribution,
    ColumnImportance,
    PartialDependence,
)
from separatrix.study.guaranteed.records import Calibration
from separatrix.study.score import Score as Score
from separatrix.study.stream_record import StreamRecord
from separatrix.study.uncertainty import Uncertainty
from separatrix.study.validation.records import Nested, Repeats


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

    ``best`` has the least loss; ``other_rule_winner`` is what the other rule would have taken.
    ``differences`` of every candidate are those from the best.
    """

    winner: str
    rule: str
    metric: str
    reason: str
    best: str = ""
    other_rule_winner: str = ""
    differences: dict[str, Difference] = field(default_factory=dict)


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
    where it is no option. ``reject_label`` is the answer of a rejection. ``coverage`` is the
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


@dataclass(frozen=True)
class Study:
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
    uncertainty : predictive distributions on rows the model was not fitted to; None without any.
    guaranteed : what guaranteed intervals and sets are made from; None of a study from moments.
    digest : of the content of all rows in any order, for ``verify``; empty where none was made.
    validation : "folds", "leave_one_out" (one row, or one group, at a time) or "time".
    repeats, nested : the comparison on several sets of folds, and the selection judged by an outer
        loop; None where they were not asked for.
    stream : passes and sums of a table of classes that is not in memory; None of one that is.
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
    uncertainty: Uncertainty | None = None
    guaranteed: Calibration | None = None
    digest: str = ""
    validation: str = "folds"
    repeats: Repeats | None = None
    nested: Nested | None = None
    stream: StreamRecord | None = None
