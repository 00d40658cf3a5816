"""What a study found: everything that the leaderboard, ``result.json`` and the report show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from separatrix.discriminant.covariance_tests import BoxTest, MardiaTest
from separatrix.messages import InputError
from separatrix.probability.costs import Costs
from separatrix.probability.decision_surface import DecisionSurface
from separatrix.rows.block import Floats
from separatrix.rows.profile import ColumnProfile


@dataclass(frozen=True)
class Score:
    """A measured quantity with its 95 % interval."""

    metric: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class CrossValidatedScore:
    """A measure on every fold, its mean over them, and the standard error of that mean."""

    metric: str
    folds: tuple[float, ...]
    mean: float
    standard_error: float


@dataclass(frozen=True)
class Entry:
    """One line of the leaderboard: a candidate and its cross-validated error.

    ``metric`` is what the choice goes by: the log loss of classes. ``beside`` holds their other
    measure, the error rate (the other way round where the error rate was asked for). ``calibrated``
    names the calibration that made probabilities of a candidate's scores, where it has none itself.
    """

    name: str
    label: str
    metric: str
    folds: tuple[float, ...]
    mean: float
    standard_error: float
    chosen: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    beside: CrossValidatedScore | None = None
    calibrated: str | None = None


@dataclass(frozen=True)
class Predictions:
    """Rows that a model did not see: numbers, truth, prediction, a classifier's scores, weights.

    ``predicted`` may be a doubt (:attr:`Decision.label`). ``probabilities`` has a column for each
    of ``Study.classes``, in their order, as the stored model gives them: after any calibration;
    ``uncalibrated`` are the model's own, where a calibration changed them.
    """

    rows: Any
    truth: Any
    predicted: Any
    scores: Floats | None = None
    w: Floats | None = None
    probabilities: Floats | None = None
    uncalibrated: Floats | None = None


@dataclass(frozen=True)
class TrainingRows:
    """The training part as the chosen model saw it, thinned to what pictures need.

    ``x`` is the design (dummies in place, gaps filled) with its column ``names``; ``scores`` are
    those of a classifier; ``rows`` are the row numbers in the table, so that a point can be named.
    A stored study has no ``x``, which would be a copy of the data, but what pictures need of it:
    ``scale``, the deviation of each column, and the ``leverage`` of each row.
    """

    x: Floats | None
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
    """Whether another reading of the winner's scores gives truer probabilities.

    Told on the folds: every fold is read by a map learned on the scores of the others. ``method``
    is the calibration that the stored model has, None where its own probabilities are kept.
    ``before`` is the cross-validated log loss without it, ``after`` with it; ``tried`` holds every
    method's. ``gain`` is the mean of the paired differences before − after, ``gain_error`` its
    standard error. ``error_before`` and ``error_after`` are expected calibration errors (of the
    probability given to the predicted class, ten groups), over all folds together.
    """

    method: str | None
    before: CrossValidatedScore
    after: CrossValidatedScore
    error_before: float
    error_after: float
    gain: float
    gain_error: float
    tried: dict[str, CrossValidatedScore] = field(default_factory=dict)
    words: str = ""


@dataclass(frozen=True)
class Decision:
    """What answers cost, and how the cheapest ones did on the test part.

    ``costs.matrix[i, j]``: the truth is class i, the answer j; ``costs.reject_cost[i]``: the answer is
    doubt (None where doubt has no price). ``label`` is the answer in doubt. ``coverage`` is the
    share of rows answered, ``risk`` the mean cost of those; ``cost`` that of all rows, doubt
    included; ``cost_without`` that of answering with the most probable class instead.
    """

    costs: Costs
    label: str
    cost: Score
    coverage: Score
    risk: Score
    cost_without: Score


@dataclass(frozen=True)
class CovarianceTests:
    """Whether classes are normal, and whether they share a covariance: on the training part.

    ``normal`` holds Mardia's test by class, ``not_tested`` the reason for a class without one;
    ``equal`` is Box's test, None where it cannot be made. ``favoured`` is "shared" (one covariance:
    lda), "full" (one for each class: qda), or "none" (not normal: logistic asks less); ``words``
    says so, and why. ``columns`` are those tested: the numeric ones that vary.
    """

    normal: dict[str, MardiaTest]
    not_tested: dict[str, str]
    equal: BoxTest | None
    favoured: str
    words: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlaneView:
    """Rows on a plane: ``dots``, and ``score[i, j]`` of the model at (across[j], up[i]).

    ``projected`` says that there are more directions than the two; ``fixed`` what columns without
    numbers are held at.
    """

    dots: Floats
    across: Floats
    up: Floats
    score: Floats
    names: tuple[str, str]
    projected: bool
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Margins:
    """The training part of a support vector machine of two classes, of a large one a selection.

    ``alpha`` is the multiplier of each row and ``bound`` its greatest value; ``y`` are the classes,
    ``scores`` those of the machine. ``sight`` is None where no two columns of numbers vary.
    """

    alpha: Floats
    bound: Floats
    y: Any
    scores: Floats
    sight: PlaneView | None


@dataclass(frozen=True)
class LearningCurve:
    """Error against amount of training data: one row of ``train`` and ``validation`` per size."""

    sizes: tuple[int, ...]
    train: Floats
    validation: Floats
    metric: str


@dataclass(frozen=True)
class Study:
    """The whole story of one ``separatrix fit``.

    ``said`` lists what was inferred, each with its reason and how to override it; ``winner`` is the
    name of the entry that was measured on the test part, ``reason`` why it was taken. ``held`` is
    the test part, opened once; ``left_out`` are the folds, each judged without having been seen.
    ``path`` holds penalties and the coefficients at each, for a winner that has no penalty itself.
    Of classes there are also ``calibration``, ``decision`` (where costs or a price of doubt were
    given), ``covariances`` and ``plane``; each is None where it could not be told. ``margins``
    belongs to support vector machines of two classes.
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
    said: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    held: Predictions | None = None
    curve: LearningCurve | None = None
    training: TrainingRows | None = None
    command: str = ""
    path: tuple[Floats, Floats] | None = None
    left_out: tuple[Predictions, ...] = ()
    calibration: CalibrationCheck | None = None
    decision: Decision | None = None
    covariances: CovarianceTests | None = None
    plane: DecisionSurface | None = None
    margins: Margins | None = None

    @property
    def core(self) -> Any:
        """The model beneath calibration and doubt: the one with coefficients or densities."""
        model = self.model
        while hasattr(model, "estimator_"):
            model = model.estimator_
        return model

    @property
    def odds(self) -> Any:
        """The :class:`LogisticSummary` of a winner that has one (odds ratios, p), else None."""
        from separatrix.logistic.logistic_regression import LogisticRegression

        if not isinstance(self.core, LogisticRegression):
            return None
        try:
            return self.core.summary()
        except InputError:
            return None
