"""Learning curves of any models: linear ones from one pass over the rows, others by refits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.arrays import Floats, Ints
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.rows.parts import Hashes, Parts
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.scan import scan
from separatrix.selection.criteria import names_of
from separatrix.selection.folds import DEFAULT_FOLDS, RefitRows, deal_copies
from separatrix.selection.rules import validation_error
from separatrix.statistics.moments import Grouped, Moments, design_moments, learn_encoding


def learning_curves(
    models: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    folds: int = DEFAULT_FOLDS,
    seed: int = 0,
) -> LearningCurves:
    """Error over complexity and amount of data, with folds for intervals.

        e(n, m) = mean loss, on rows left out, of model m fitted to n rows

    Training sets of one fold are nested, and all are tested on the same rows. Linear models that
    fit moments (LinearRegression, Ridge, Lasso, RidgePath, LassoPath, BayesianRidge …) take all
    sizes and complexities from one pass: moments of parts of the rows add up to every training
    set. Other models are refitted to the rows of each.

    Parameters
    ----------
    models : estimator, list of estimators, or path
        From the simplest to the most complex. RidgePath and LassoPath count as a model for each
        penalty; without ``alphas`` of its own, those of all rows.
    X : array-like, data frame or Rows
        The rows.
    y : array-like, default=None
        Their targets; Rows bring their own.
    sample_weight : array-like, default=None
        Weights of the rows.
    folds : int, default=5
        Number of folds.
    seed : int, default=0
        Seed of the split.

    Returns
    -------
    LearningCurves
        Errors by size, complexity and fold; prints as a table, and extrapolates.

    See Also
    --------
    criteria : Chooses complexity at the size there is.
    run_curve : Learning curves of a table, and what would help, in words.

    References
    ----------
    Cortes, Jackel, Solla, Vapnik and Denker, Learning curves: asymptotic values and rate of
    convergence, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(0, 5, (300, 1))
    >>> y = 2 * np.sin(1.5 * x[:, 0]) + rng.standard_normal(300)
    >>> curves = sx.learning_curves([sx.PolynomialRegression(k) for k in (1, 3, 5)], x, y)
    >>> curves.names[curves.best[-1]], curves.validation.shape
    ('5', (8, 3, 5))
    """
    ladder = list(models) if isinstance(models, list | tuple) else [models]
    if not ladder:
        raise InputError("learning_curves needs one model or more.", remedy="Give a list of them.")
    names = _names(ladder)
    if all(getattr(model, "fits_moments", False) for model in ladder):
        rows = X if isinstance(X, Rows) else scan(X, y, sample_weight)
        return _from_moments(ladder, names, rows, folds, seed)
    data = RefitRows.of(ladder, X, y, sample_weight)
    copied = data.copies()
    nesting = Nesting.of(len(data.y if copied is None else np.unique(copied)), folds)
    labels = nesting.dealt(len(data.y), data.codes, seed, copied)
    learning_curve_losses = losses_from_refits(data, labels, nesting, ladder)
    return _curves(learning_curve_losses, names, data.loss, 0)


def _names(ladder: list[Any]) -> list[str]:
    values = names_of(ladder)[1]
    return [str(value) for value in values]


def _curves(
    learning_curve_losses: LearningCurveLosses, names: list[str], loss: str, passes: int
) -> LearningCurves:
    return LearningCurves(
        learning_curve_losses.sizes,
        tuple(names),
        learning_curve_losses.validation,
        learning_curve_losses.training,
        loss,
        passes,
    )


def _from_moments(
    ladder: list[Any], names: list[str], rows: Rows, folds: int, seed: int
) -> LearningCurves:
    nesting = Nesting.of(_count(rows), folds)
    parts = nesting.labels(rows, seed) if isinstance(rows, InMemory) else nesting.parts(seed)
    raw = rows.with_parts(parts).reduce(Grouped(Moments()))
    steps, labels = [], []
    for model, name in zip(ladder, names, strict=True):
        alphas = _penalties(model, raw, rows)
        if alphas is None:
            steps.append(Step(name, model))
            labels.append(name)
            continue
        whole = clone(model).set_params(alphas=alphas)
        steps.append(Step(name, whole, points=len(alphas)))
        labels += [f"{alpha:.4g}" for alpha in alphas]
    learning_curve_losses = losses_from_moments(raw.parts, nesting, steps, design_of_training(rows))
    return _curves(learning_curve_losses, labels, "squared error", 1)


def _count(rows: Rows) -> int:
    """Rows in memory are counted; of a stream there are taken to be enough."""
    return len(rows) if isinstance(rows, InMemory) else 10**6


def design_of_training(rows: Rows) -> Designed | None:
    """Levels and means of missing values, learned from the training rows alone."""
    schema = rows.schema
    if isinstance(rows, ArrayRows):
        return None
    if schema.missing == "regress":
        raise InputError(
            "missing='regress' imputes row by row, which moments cannot.",
            remedy="Use missing='mean'.",
        )

    def encode(train: Moments, test: Moments) -> tuple[Moments, Moments]:
        encoding = learn_encoding(schema, train)
        return design_moments(encoding, train), design_moments(encoding, test)

    return encode


def _penalties(model: Any, raw: Grouped[Moments], rows: Rows) -> Any:
    """Penalties of a path, in its order; None for a single model."""
    if not hasattr(model, "path_figures"):
        return None
    whole = raw.total()
    design = design_of_training(rows)
    return clone(model).fit(whole if design is None else design(whole, whole)[0]).alphas_


# -------------------------------------------------------------------------------------------------
# Learning curves: error by size of the training set, complexity and fold; prints as a table.


@dataclass(frozen=True)
class Extrapolation:
    """The error of one complexity at ``n`` rows, with an interval of 90 %.

    ``gain`` is how much less that is than now, by the same power law, with its interval.
    ``determined`` says whether the curve determines its limit.
    """

    name: str
    n: float
    error: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float
    determined: bool


@dataclass(frozen=True, repr=False)
class LearningCurves(Shown):
    """Error over complexity and amount of data, fold by fold; prints as a table.

    Parameters
    ----------
    sizes : ndarray of shape (s,)
        Numbers of training rows, mean over the folds (Σw where rows have weights).
    names : tuple of str
        The complexities, simplest first.
    validation : ndarray of shape (s, c, folds)
        Mean loss of the test rows of each fold; NaN where a model could not be fitted.
    training : ndarray of shape (s, c, folds)
        Mean loss of the training rows.
    loss : str, default="squared error"
        What is averaged. Tables, pictures and extrapolations show the root of a squared error.
    passes : int, default=0
        Passes over the rows; 0 where models were refitted.

    Attributes
    ----------
    best : ndarray of shape (s,)
        Position of the complexity of least error, by size.

    See Also
    --------
    learning_curves : Computes them.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((400, 5))
    >>> y = x @ [1.0, 0.5, 0.0, 0.0, 0.0] + rng.standard_normal(400)
    >>> curves = sx.learning_curves([sx.Ridge(1000.0), sx.Ridge(1.0)], x, y)
    >>> curves.names[curves.best[-1]], curves.passes
    ('1.0', 1)
    >>> found = curves.extrapolate(4000)[-1]
    >>> bool(found.low <= found.error <= found.high)
    True
    """

    sizes: Floats
    names: tuple[str, ...]
    validation: Floats
    training: Floats
    loss: str = "squared error"
    passes: int = 0

    @property
    def metric(self) -> str:
        """The name of what is shown: "rmse" for squared errors, else the loss."""
        return {"squared error": "rmse", "error rate": "error"}.get(self.loss, self.loss)

    @property
    def mean(self) -> Floats:
        """What is shown, by size and complexity: means over folds, their root if of squares."""
        return self.shown(self.validation.mean(axis=2))

    @property
    def standard_error(self) -> Floats:
        """Standard error of ``mean`` over the folds."""
        k = self.validation.shape[2]
        spread = self.validation.std(axis=2, ddof=1) / np.sqrt(k)
        if self.loss != "squared error":
            return np.asarray(spread)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.mean > 0.0, spread / (2.0 * self.mean), 0.0))

    def shown(self, losses: Floats) -> Floats:
        """Losses as they are shown."""
        return np.asarray(np.sqrt(losses) if self.loss == "squared error" else losses)

    @property
    def best(self) -> Ints:
        """Position of the least mean error, by size; of equals the simplest, −1 if none is known.

        Differences beyond twelve digits are rounding.
        """
        mean = np.where(np.isfinite(self.mean), self.mean, np.inf)
        least = mean.min(axis=1, keepdims=True)
        first = (mean <= least * (1.0 + 1e-12)).argmax(axis=1)
        return np.asarray(np.where(np.isfinite(least[:, 0]), first, -1), dtype=np.int64)

    @cached_property
    def power_laws(self) -> tuple[PowerLaw | None, ...]:
        """One for each complexity; None where too few points follow the last peak."""
        columns = (self.validation[:, j] for j in range(len(self.names)))
        return tuple(fit_power_law(self.sizes, column) for column in columns)

    def extrapolate(self, n: float) -> list[Extrapolation]:
        """The error at ``n`` training rows (∞ for the limit) of every curve that allows it.

        Folds of n rows are meant: the model of the whole table has a fold more.
        """
        if not n > 0:
            raise InputError(f"n={n!r} must be a number of rows.")
        points = []
        for j, name in enumerate(self.names):
            law = self.power_laws[j]
            if law is None:
                continue
            then, now = self.draws_at(j, n), self.draws_at(j, float(self.sizes[-1]))
            error, low, high = law.interval(then)
            gain = law.interval(now - then)
            points.append(Extrapolation(name, n, error, low, high, *gain, law.determined))
        return points

    def draws_at(self, j: int, n: float) -> Floats:
        """The error of complexity j at ``n`` rows by every draw of its power law, as shown.

        The law is moved to pass through the error of the largest training sets.
        """
        law = self.power_laws[j]
        assert law is not None
        end = float(law.at(float(self.sizes[-1]))[0])
        through = float(self.validation[-1, j].mean()) / end if end > 0.0 else 1.0
        return self.shown(law.at(n) * through)

    def __str__(self) -> str:
        # Complexities of which a table has columns.
        at = np.unique(np.linspace(0, len(self.names) - 1, min(len(self.names), 8)).round()).astype(
            int
        )
        heads = ["rows", *(self.names[j] for j in at)]
        mean, spread, best = self.mean, self.standard_error, self.best
        lines = []
        for i, size in enumerate(self.sizes):
            cells = []
            for j in at:
                text = "–"
                if np.isfinite(mean[i, j]):
                    text = f"{digits(mean[i, j], 4)} ± {digits(spread[i, j], 2)}"
                cells.append(f"{text}*" if j == best[i] else text)
            lines.append([f"{size:.0f}", *cells])
        widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
        table = [
            "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True))
            for line in (heads, *lines)
        ]
        return "\n".join(
            [*table, f"{self.metric} on test rows ± standard error; * least in its row"]
        )


def digits(value: float, count: int) -> str:
    """A number of so many digits, without a power of ten where it is not needed."""
    text = f"{value:.{count}g}"
    return f"{float(text):,.0f}" if 1e2 <= abs(value) < 1e9 and "e" in text else text


# -------------------------------------------------------------------------------------------------
# Nested training sets: folds, and within each fold ranks that add up to growing sets.
#
#     part of a row = rank · folds + fold,      train(f, s) = rows of the other folds with rank < s
#
# A larger training set contains the smaller ones, and every size is tested on the same rows, so
# that differences along a curve are differences of the models. Moments by part add up to all of
# them.


#: Added to the seed of the folds for that of the ranks.
RANK_SEED = 7_919


@dataclass(frozen=True)
class Nesting:
    """``folds`` times ``ranks`` parts."""

    folds: int
    ranks: int

    @classmethod
    def of(cls, n: int, folds: int) -> Nesting:
        """As many ranks as rows allow; refuses tables with too few."""
        if folds < 2:
            raise InputError(f"{folds} folds are too few.", remedy="Choose at least 2.")
        rows_a_part = 2  # rows of each part at least, on average
        ranks = min(16, n // (rows_a_part * folds))  # ranks at most
        if ranks < 4:
            raise InputError(
                f"{n} rows are too few for a learning curve of {folds} folds.",
                remedy=f"Give at least {4 * rows_a_part * folds} rows, or use fewer folds.",
            )
        return cls(folds, ranks)

    def parts(self, seed: int) -> Parts:
        """The split of a stream by a hash of the content of its rows."""
        return Parts(seed, 0.0, self.folds * self.ranks)

    def labels(self, rows: InMemory, seed: int) -> Ints:
        """The part of every row in memory: folds and ranks of exact size, class by class.

        They come from two independent hashes: parts of a few rows could not each have all classes.
        """
        fold = rows.with_parts(Parts(seed, 0.0, self.folds)).block.parts
        rank = rows.with_parts(Parts(seed + RANK_SEED, 0.0, self.ranks)).block.parts
        return np.asarray(np.asarray(rank) * self.folds + np.asarray(fold), dtype=np.int64)

    def dealt(self, n: int, codes: Ints | None, seed: int, copied: Hashes | None = None) -> Ints:
        """A part for each of n rows at random, class by class where ``codes`` are given.

        Rows of one key of ``copied`` are in one part.
        """
        if copied is not None:
            fold = deal_copies(copied, self.folds, codes, seed)
            return deal_copies(copied, self.ranks, codes, seed + RANK_SEED) * self.folds + fold
        chance = np.random.default_rng(seed).random(n)
        order = np.lexsort((chance, np.zeros(n) if codes is None else codes))
        labels = np.empty(n, dtype=np.int64)
        labels[order] = np.arange(n) % (self.folds * self.ranks)
        return labels

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Numbers of ranks of the training sets, smallest first."""
        # Numbers of ranks that training sets have.
        return (*(level for level in (1, 2, 3, 4, 6, 8, 11, 16) if level < self.ranks), self.ranks)

    def train(self, labels: Ints, fold: int, level: int) -> Ints:
        """Positions of the training rows."""
        fold_of, rank = labels % self.folds, labels // self.folds
        return np.flatnonzero((fold_of != fold) & (rank < level))

    def test(self, labels: Ints, fold: int) -> Ints:
        """Positions of the test rows of a fold."""
        return np.flatnonzero(labels % self.folds == fold)

    def growing(self, parts: Mapping[int, Moments], fold: int) -> list[Moments]:
        """Moments of the training sets of a fold, smallest first: each part is added once."""
        steps, total, upto = [], Moments(), 0
        for level in self.levels:
            for rank in range(upto, level):
                for other in range(self.folds):
                    part = parts.get(rank * self.folds + other)
                    if other != fold and part is not None:
                        total = total + part
            steps.append(total)
            upto = level
        return steps

    def left_out(self, parts: Mapping[int, Moments], fold: int) -> Moments:
        """Moments of the test rows of a fold."""
        total = Moments()
        for rank in range(self.ranks):
            part = parts.get(rank * self.folds + fold)
            total = total if part is None else total + part
        return total


def some_terms(m: Moments, indices: Ints) -> Moments:
    """The moments of some of the terms, with all targets."""
    places = np.concatenate([indices, m.d + np.arange(len(m.targets))])
    terms = type(m.terms)(tuple(m.terms.items[j] for j in indices))
    scatter: Floats = m.scatter[np.ix_(places, places)]
    return Moments(terms, m.targets, m.count, m.weight, m.mean[places], scatter)


# -------------------------------------------------------------------------------------------------
# Mean losses of models on nested training sets: from moments by part, or by refits on rows.


#: A training set and the test rows of its fold, as moments of one design.
Designed = Callable[[Moments, Moments], tuple[Moments, Moments]]


@dataclass(frozen=True)
class Step:
    """One complexity: a model, on some of the terms (None: all).

    A path (``coefs_`` at many penalties) is as many complexities as it has points.
    """

    name: str
    model: Any
    terms: Ints | None = None
    points: int = 1


@dataclass(frozen=True)
class LearningCurveLosses:
    """Mean losses (sizes x complexities x folds) on test and on training rows, and the sizes."""

    sizes: Floats
    validation: Floats
    training: Floats


def losses_from_moments(
    parts: Mapping[int, Moments],
    nesting: Nesting,
    steps: Sequence[Step],
    design: Designed | None = None,
) -> LearningCurveLosses:
    """Squared errors of linear models, all from one pass: the moments of every part."""
    k, levels = nesting.folds, len(nesting.levels)
    count = sum(step.points for step in steps)
    validation = np.full((levels, count, k), np.nan)
    training, weights = validation.copy(), np.empty((levels, k))
    refusals: list[Exception] = []
    for fold in range(k):
        outside = nesting.left_out(parts, fold)
        if not outside.weight:
            raise InputError(f"Fold {fold} has no rows of positive weight.", remedy="Use fewer.")
        for level, inside in enumerate(nesting.growing(parts, fold)):
            weights[level, fold] = inside.weight
            if not inside.weight:  # few large groups: the smallest sets may be empty
                continue
            sides = (inside, outside) if design is None else design(inside, outside)
            with _silence_warnings():
                errors = [step_errors(step, *sides, refusals) for step in steps]
            validation[level, :, fold] = np.concatenate([test for test, _ in errors])
            training[level, :, fold] = np.concatenate([train for _, train in errors])
    _refuse_nothing(validation, refusals)
    return LearningCurveLosses(weights.mean(axis=1), validation, training)


def step_errors(
    step: Step, train: Moments, test: Moments, refusals: list[Exception] | None = None
) -> tuple[Floats, Floats]:
    """Squared errors on test and training rows of every point of a step; NaN if it has no fit.

    Why it has none is appended to ``refusals``.
    """
    if step.terms is not None:
        train, test = some_terms(train, step.terms), some_terms(test, step.terms)
    try:
        model = clone(step.model).fit(train)
    except ValueError as why:  # too few rows for this model: its curve starts further right
        if refusals is not None:
            refusals.append(why)
        return np.full(step.points, np.nan), np.full(step.points, np.nan)
    many = step.points > 1
    coefs = np.atleast_2d(model.coefs_ if many else model.coef_)
    intercepts = np.atleast_1d(model.intercepts_ if many else model.intercept_)
    test_errors = validation_error(test, coefs, intercepts)
    return test_errors, validation_error(train, coefs, intercepts)


def losses_from_refits(
    rows: RefitRows,
    labels: Ints,
    nesting: Nesting,
    models: Sequence[Any],
    tick: Callable[[], None] = lambda: None,
) -> LearningCurveLosses:
    """Losses of any models, each refitted to every training set; ``tick`` after each fold.

    A model may need more rows than the smallest sets have; where no model can be fitted to any set,
    its own refusal says why.
    """
    k, levels = nesting.folds, len(nesting.levels)
    validation = np.full((levels, len(models), k), np.nan)
    training, weights = validation.copy(), np.empty((levels, k))
    refusals: list[Exception] = []
    for fold in range(k):
        test = nesting.test(labels, fold)
        for i, level in enumerate(nesting.levels):
            train = nesting.train(labels, fold, level)
            weights[i, fold] = len(train) if rows.w is None else rows.w[train].sum()
            with _silence_warnings():
                for j, model in enumerate(models):
                    try:
                        fitted = rows.fitted(model, train)
                        losses = rows.mean_loss(fitted, test), rows.mean_loss(fitted, train)
                        validation[i, j, fold], training[i, j, fold] = losses
                    except (ValueError, ZeroDivisionError) as why:
                        refusals.append(why)
        tick()
    _refuse_nothing(validation, refusals)
    return LearningCurveLosses(weights.mean(axis=1), validation, training)


def _refuse_nothing(validation: Floats, refusals: list[Exception]) -> None:
    """Where no model can be fitted to any training set, the last refusal says why."""
    if refusals and np.isnan(validation).all():
        raise refusals[-1]


@contextmanager
def _silence_warnings() -> Iterator[None]:
    """Without the warnings that small training sets give: dependent columns, rare classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# -------------------------------------------------------------------------------------------------
# A power law through a learning curve, and what it says beyond the last row.
#
#     e(n) ≈ a + b n⁻ᶜ,    a, b ≥ 0,   0.1 ≤ c ≤ 2
#
# by least squares of relative errors, weighted by n, since the end of a curve says more on what
# follows than its beginning: for each c on a grid, a and b are linear. The folds are drawn
# anew many times (bootstrap), which gives intervals of everything that follows. Where the error of
# least squares peaks near as many rows as coefficients, only what comes after the peak counts.


EXPONENTS = np.geomspace(0.1, 2.0, 40)
#: Probability that intervals cover.
LEVEL = 0.9


@dataclass(frozen=True)
class PowerLaw:
    """``draws`` of (a, b, c), of which the first is that of all folds, and the ``last`` size.

    Folds share their training rows and are few, so that intervals are rather too short.
    """

    draws: Floats
    last: float

    def at(self, n: float) -> Floats:
        """The error at n rows, by every draw; n may be infinite."""
        a, b, c = self.draws.T
        return np.asarray(a if np.isinf(n) else a + b * n**-c)

    def interval(self, values: Floats) -> tuple[float, float, float]:
        """The value of all folds, and the ends of the interval of the draws, which contains it."""
        ends = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        value = float(values[0])
        return value, min(float(ends[0]), value), max(float(ends[1]), value)

    @property
    def determined(self) -> bool:
        """Whether the limit is known to half of what is above it at the last of the rows."""
        _, low, high = self.interval(self.draws[:, 0])
        a, b, c = self.draws.T
        # What is left to fall of a curve that counts as flat, as a fraction of its limit.
        falling = b * self.last**-c > 1e-3 * a
        bounded = (c <= EXPONENTS[0]) | (c >= EXPONENTS[-1])
        return bool(high - low <= 0.5 * high and np.mean(falling & bounded) < 0.5)


def fit_power_law(sizes: Floats, errors: Floats, seed: int = 0) -> PowerLaw | None:
    """Through errors (sizes x folds); None where too few points follow the last peak."""
    known = np.isfinite(errors).all(axis=1)
    sizes, errors = sizes[known], errors[known]
    fewest_points = 4  # points that are needed
    if len(sizes) < fewest_points:
        return None
    mean = errors.mean(axis=1)
    peak = int(mean.argmax())
    start = 0 if peak == 0 else peak + 1
    after = np.arange(len(sizes)) >= start
    # The largest error that counts, in errors of the last point.
    after &= mean <= 3.0 * max(float(mean[-1]), np.finfo(float).tiny)
    if np.count_nonzero(after) < fewest_points or not (mean[after] > 0.0).all():
        return None
    sizes, errors = sizes[after], errors[after]
    folds = errors.shape[1]
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, folds, (400, folds))  # draws of the bootstrap
    drawn = errors[:, picks].mean(axis=2).T  # draws x sizes
    center = errors.mean(axis=1)
    # means of few folds drawn anew vary by √((k − 1)/k) too little
    drawn = center + (drawn - center) * np.sqrt(folds / max(folds - 1, 1))
    drawn = np.maximum(drawn, 1e-3 * center)
    return PowerLaw(_fit_power_law(sizes, np.vstack([center, drawn])), float(sizes[-1]))


def _fit_power_law(sizes: Floats, errors: Floats) -> Floats:
    """(a, b, c) for every row of errors (draws x sizes)."""
    best = np.full(len(errors), np.inf)
    laws = np.zeros((len(errors), 3))
    scale = float(sizes[-1])
    u, w = 1.0 / errors, sizes / scale
    for c in EXPONENTS:
        v = (sizes / scale) ** -c * u
        uu, uv, vv = (u * u) @ w, (u * v) @ w, (v * v) @ w
        us, vs = u @ w, v @ w
        determinant = np.maximum(uu * vv - uv**2, 1e-12 * uu * vv)
        a, b = (vv * us - uv * vs) / determinant, (uu * vs - uv * us) / determinant
        flat, steep = b < 0.0, a < 0.0
        a = np.where(steep, 0.0, np.where(flat, us / uu, a))
        b = np.where(steep, vs / vv, np.where(flat, 0.0, b))
        misfit = (a[:, None] * u + b[:, None] * v - 1.0) ** 2 @ w
        better = misfit < best
        best = np.where(better, misfit, best)
        laws[better] = np.column_stack([a, b * scale**c, np.full(len(a), c)])[better]
    return laws
