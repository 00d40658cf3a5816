"""Rows of a pool whose labels would tell most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from scipy.special import xlogy
from scipy.stats import t as student
from sklearn.base import clone, is_clusterer, is_regressor
from sklearn.utils import _safe_indexing

from separatrix.arrays import Floats, Ints
from separatrix.distances.search import NearestNeighborSearch
from separatrix.formatting import plural
from separatrix.messages import InputError, check_option
from separatrix.notebook import Grid, Item, Sentence, Shown
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Standardizer

STRATEGIES = (
    *("auto", "version_space", "margin", "disagreement", "error_reduction"),
    *("variance", "distance"),
)
#: Those of models that predict numbers.
OF_NUMBERS = ("variance", "disagreement", "distance")
REASONS = {
    "version_space": "between the most specific and the most general boxes",
    "margin": "the two likeliest classes are close",
    "disagreement": "models that fit the rows disagree",
    "error_reduction": "the label is expected to lower the error most",
    "variance": "the predictive distribution is widest",
    "distance": "they are farthest from the training rows",
}


@dataclass(frozen=True, repr=False)
class Query(Shown):
    """Rows worth labeling, the most telling first.

    Parameters
    ----------
    rows : ndarray of int
        Positions in the pool.
    scores : ndarray
        How much each label would tell, by the strategy.
    strategy : str
        The strategy that chose them.
    note : str
        Why there are fewer than k rows; empty if there are not.

    See Also
    --------
    query : Choose rows of a pool.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.BoxClassifier(concept=1).fit([[1.0], [2.0], [6.0]], [1, 1, 0])
    >>> sx.query(model, [[1.5], [9.0]]).note
    'No row is between the most specific and the most general boxes: no label would tell anything.'
    """

    rows: Ints
    scores: Floats
    strategy: str
    note: str = ""

    @property
    def reason(self) -> str:
        """What the rows have in common."""
        return REASONS[self.strategy]

    def __len__(self) -> int:
        return len(self.rows)

    def _display(self) -> list[Item]:
        """The rows by position in the pool, each with its score."""
        what = f"{plural(len(self), 'row')} worth labeling: {self.reason} ({self.strategy})."
        lines = [(f"{r}", f"{s:.4g}") for r, s in zip(self.rows, self.scores, strict=True)]
        grid = [Grid(("row of the pool", "score"), lines)] if lines else []
        return [Sentence(what), *grid, *([Sentence(self.note)] if self.note else [])]


def query(
    model: Any,
    pool: Any,
    k: int = 1,
    *,
    strategy: str = "auto",
    training: tuple[Any, Any] | None = None,
    diverse: bool = True,
    seed: int = 0,
) -> Query:
    """Rows of a pool without labels that are worth labeling.

    A model knows where it is uncertain: a version space between S and G, probabilities where two
    are close, several models where they disagree. Labels there tell more than labels elsewhere;
    :func:`active_curve` shows how many they save.

    Parameters
    ----------
    model : classifier or regressor, or list of such
        Fitted. A list is a committee, queried where its members disagree.
    pool : array-like, data frame or Rows
        Rows without labels, with the columns of training.
    k : int, default=1
        How many rows to choose.
    strategy : str, default="auto"
        "version_space": between S and G of boxes. "margin": the two largest probabilities, or
        scores, are closest. "disagreement": the models of a list, or copies of the model fitted to
        training rows drawn with replacement, differ most. "error_reduction": the expected error
        over the pool falls most, by fitting again with each label of the 30 most uncertain rows.
        "auto" is version_space for those, disagreement for lists, and margin else. Of numbers:
        "variance", where the predictive distribution is widest; "disagreement", where predictions
        of the models differ most; "distance", one row after the other farthest from the training
        rows and those chosen, in standard deviations of the columns. "auto" is the first of these
        that the model and what is given allow.
    training : (X, y), default=None
        The labeled rows, for disagreement of one model, error reduction and distance.
    diverse : bool, default=True
        Whether rows chosen together are also far from one another: rows alike tell the same.
    seed : int, default=0
        For rows drawn with replacement.

    Returns
    -------
    Query
        ``rows``, ``scores``, ``strategy`` and ``note``.

    See Also
    --------
    active_curve : The errors that asking there saves, on a table with labels.
    BoxClassifier : The version space of boxes.
    coverage_risk : Rejecting the most uncertain rows instead.

    References
    ----------
    B. Settles, Active learning literature survey, 2009.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.BoxClassifier(concept=1).fit([[1.0], [2.0], [6.0]], [1, 1, 0])
    >>> sx.query(model, [[1.5], [4.1], [3.0], [9.0]], k=2).rows.tolist()
    [1, 2]
    """
    check_option("strategy", strategy, STRATEGIES)
    if not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k={k!r} must be a whole number above zero.")
    several = isinstance(model, Sequence)
    strategy = chosen_strategy(model, strategy, training)
    if strategy == "distance":
        return farthest_rows(model[0] if several else model, pool, int(k), training)
    scores = _scores(model, pool, strategy, training, seed, several)
    single = model[0] if several else model
    x = _coordinates(single, pool) if diverse and k > 1 else None
    rows = spread_out(scores, x, int(k))
    return Query(rows, scores[rows], strategy, _note(strategy, len(rows), int(k), len(scores)))


def chosen_strategy(model: Any, strategy: str, training: Any) -> str:
    """The strategy for these models; one that is not theirs is refused."""
    several = isinstance(model, Sequence)
    members = list(model) if several else [model]
    if any(is_clusterer(member) for member in members):
        raise InputError("A clustering has no labels to ask for.", remedy="Give a predictor.")
    numbers = [is_regressor(member) for member in members]
    if any(numbers) != all(numbers):
        raise InputError("A committee predicts numbers, or classes, and not both.")
    if not any(numbers):
        if strategy == "variance":
            raise InputError(
                "strategy='variance' is that of predicted numbers, and these are classes.",
                remedy="Use strategy='margin'.",
            )
        if strategy != "auto":
            return strategy
        return (
            "disagreement"
            if several
            else ("version_space" if hasattr(model, "certainty") else "margin")
        )
    if strategy == "auto":
        if several:
            return "disagreement"
        if has_deviation(model):
            return "variance"
        return "distance" if training is None else "disagreement"
    if strategy not in OF_NUMBERS:
        raise InputError(
            f"strategy={strategy!r} asks for classes, and {type(members[0]).__name__} predicts "
            "numbers.",
            remedy=f"Use one of {', '.join(OF_NUMBERS)}.",
        )
    return strategy


def has_deviation(model: Any) -> bool:
    """Whether a regressor says how sure it is of every row."""
    return hasattr(model, "predictive") or "return_std" in signature(model.predict).parameters


def predictive_deviation(model: Any, pool: Any) -> Floats:
    """The standard deviation of what a regressor predicts; of several targets the root mean square.

    Noise of the target is the same for every row, or counts as what a label tells less of.
    """
    if not has_deviation(model):
        raise InputError(
            f"{type(model).__name__} has no predictive distribution.",
            remedy="Use strategy='disagreement' with training=(X, y), or a model that has one "
            "(BayesianRidge, GaussianProcessRegressor).",
        )
    if hasattr(model, "predictive"):
        deviation = np.asarray(model.predictive(pool).scale, dtype=float)
    else:
        deviation = np.asarray(model.predict(pool, return_std=True)[1], dtype=float)
    return deviation if deviation.ndim == 1 else np.sqrt((deviation**2).mean(axis=1))


def farthest_rows(model: Any, pool: Any, k: int, training: Any) -> Query:
    """One row after the other, each the farthest from the training rows and those before it."""
    if training is None:
        raise InputError(
            "strategy='distance' measures from the training rows, and they are not given.",
            remedy="Give training=(X, y).",
        )
    x, known = _coordinates(model, pool), _coordinates(model, training[0])
    if x is None or known is None:
        raise InputError("Rows of objects have no coordinates.", remedy="Use 'disagreement'.")
    standard = Standardizer.from_rows(known, np.ones(len(known)))
    z = standard.transform(x)
    search = NearestNeighborSearch(standard.transform(known))
    nearest = np.asarray(search.nearest(z, 1).distances[:, 0], dtype=float)
    rows: list[int] = []
    scores = []
    while len(rows) < min(k, len(z)) and nearest.max() > 0.0:
        rows.append(int(nearest.argmax()))
        scores.append(float(nearest[rows[-1]]))
        np.minimum(nearest, np.linalg.norm(z - z[rows[-1]], axis=1), out=nearest)
    note = "" if len(rows) in (k, len(z)) else "All other rows are copies of those."
    return Query(np.array(rows, dtype=np.int64), np.array(scores), "distance", note)


def _scores(
    model: Any, pool: Any, strategy: str, training: Any, seed: int, several: bool
) -> Floats:
    if several and strategy != "disagreement":
        raise InputError(f"strategy={strategy!r} takes one model, and a list was given.")
    if several and len(model) < 2:
        raise InputError("A list of one model cannot disagree.", remedy="Give two or more.")
    if strategy == "version_space":
        if not hasattr(model, "certainty"):
            raise InputError(
                f"{type(model).__name__} has no version space to be in doubt.",
                remedy="Use BoxClassifier, or strategy='margin'.",
            )
        return between_boxes(model, pool)
    if strategy == "margin":
        return smallest_margin(model, pool)
    if strategy == "variance":
        return predictive_deviation(model, pool)
    if several:
        return disagreement(model, pool)
    if training is None:
        raise InputError(
            f"strategy={strategy!r} fits the model again, and the training rows are not given.",
            remedy="Give training=(X, y).",
        )
    if strategy == "error_reduction":
        return expected_error_reduction(model, pool, training[0], training[1])
    return disagreement(committee(model, training[0], training[1], seed), pool)


def _coordinates(model: Any, pool: Any) -> Floats | None:
    """The pool as the model sees it; None where rows are objects without coordinates."""
    try:
        inner = model
        while not hasattr(inner, "_design") and hasattr(inner, "estimator_"):
            inner = inner.estimator_
        x: Any = inner._design(pool) if hasattr(inner, "_design") else pool
        if isinstance(x, Rows):
            x = x.collect().x
        array = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=float)
    except (TypeError, ValueError):
        return None
    return array if array.ndim == 2 and np.isfinite(array).all() else None


def _note(strategy: str, n_found: int, k: int, n: int) -> str:
    if n_found >= k or n_found == n:
        return ""
    if strategy == "version_space":
        which = f"Only {n_found} of {n:,} rows are" if n_found else "No row is"
        rest = "the others would tell" if n_found else "no label would tell"
        end = "nothing" if n_found else "anything"
        return f"{which} {REASONS['version_space']}: {rest} {end}."
    return f"Only {n_found} of {n:,} rows have a score."


# -------------------------------------------------------------------------------------------------
# How much a label would tell: a score for each row of a pool, larger for more.


def between_boxes(model: Any, pool: Any) -> Floats:
    """Rows between S and G of a class, close calls first; 0 where all consistent boxes agree.

    Of one box alone, the closest call is halfway between S and the box common to G: whatever the
    label, it moves one of them there.
    """
    undecided = (np.asarray(model.certainty(pool)) == 0).any(axis=1)
    return np.where(undecided, smallest_margin(model, pool), 0.0)


def smallest_margin(model: Any, pool: Any) -> Floats:
    """1 − (p₁ − p₂), the two largest probabilities; without any, 1/(1 + gap) of the scores."""
    if hasattr(model, "predict_proba"):
        return np.asarray(1.0 - _gap(np.asarray(model.predict_proba(pool), dtype=float)))
    if not hasattr(model, "decision_function"):
        raise InputError(
            f"{type(model).__name__} has neither probabilities nor scores to find close calls by.",
            remedy="Wrap it in CalibratedClassifier, or give a list of models that may disagree.",
        )
    scores = np.asarray(model.decision_function(pool), dtype=float)
    return 1.0 / (1.0 + (np.abs(scores) if scores.ndim == 1 else _gap(scores)))


def _gap(values: Floats) -> Floats:
    """The largest value of each row minus the second."""
    ordered = np.partition(values, values.shape[1] - 2, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def disagreement(models: Sequence[Any], pool: Any) -> Floats:
    """How far models are apart: the entropy of their mean prediction less their mean entropy.

    In bits, from probabilities where all have them, and else from votes. Of numbers it is the
    standard deviation of the predictions.
    """
    if is_regressor(models[0]):
        values = np.array([np.asarray(model.predict(pool), dtype=float) for model in models])
        spread = values.reshape(len(models), values.shape[1], -1).var(axis=0)
        return np.asarray(np.sqrt(spread.mean(axis=1)))
    labels = np.unique(np.concatenate([np.asarray(model.classes_) for model in models]))
    soft = all(hasattr(model, "predict_proba") for model in models)
    predictions = []
    for model in models:
        prediction = np.zeros((0, len(labels)))
        if soft:
            probabilities = np.asarray(model.predict_proba(pool), dtype=float)
            prediction = np.zeros((len(probabilities), len(labels)))
            prediction[:, np.searchsorted(labels, model.classes_)] = probabilities
        else:
            prediction = (np.asarray(model.predict(pool))[:, None] == labels).astype(float)
        predictions.append(prediction)
    mean = np.mean(predictions, axis=0)
    each = np.mean([_entropy(prediction) for prediction in predictions], axis=0)
    return np.asarray(np.maximum(_entropy(mean) - each, 0.0))


def _entropy(p: Floats) -> Floats:
    return np.asarray(-xlogy(p, p).sum(axis=1) / np.log(2.0))


def committee(model: Any, X: Any, y: Any, seed: int) -> list[Any]:
    """Copies of a model, each fitted to as many training rows drawn with replacement."""
    rng = np.random.default_rng(seed)
    y = np.asarray(y)
    first = np.empty(0, dtype=np.int64)
    if not is_regressor(model):  # one row of each class is in every draw
        first = np.unique(y, return_index=True)[1]
    members = []
    for _ in range(8):  # models of a committee, each fitted to rows drawn with replacement
        rows = np.concatenate([first, rng.integers(0, len(y), len(y) - len(first))])
        members.append(clone(model).fit(_safe_indexing(X, rows), y[rows]))
    return members


def expected_error_reduction(model: Any, pool: Any, X: Any, y: Any) -> Floats:
    """By how much a label is expected to lower the mean of 1 − p₁ over the pool.

    For each of the most uncertain rows and each class the model is fitted again with that label;
    the reductions are averaged by the present probabilities. Other rows have −∞.
    """
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{type(model).__name__} has no predict_proba to expect errors from.",
            remedy="Wrap it in CalibratedClassifier, or use strategy='margin'.",
        )
    uncertain = smallest_margin(model, pool)
    # Rows of a pool that expected errors are computed for, the most uncertain ones.
    candidates = np.argsort(-uncertain, kind="stable")[:30]
    # Rows of a pool that expected errors are computed on.
    judges = _safe_indexing(
        pool, np.linspace(0, len(uncertain) - 1, min(200, len(uncertain))).astype(int)
    )
    now = float(np.mean(1.0 - model.predict_proba(judges).max(axis=1)))
    prior = np.asarray(model.predict_proba(_safe_indexing(pool, candidates)), dtype=float)
    result = np.full(len(uncertain), -np.inf)
    for candidate, probabilities in zip(candidates, prior, strict=True):
        expected = 0.0
        for label, p in zip(model.classes_, probabilities, strict=True):
            more = clone(model).fit(
                join(X, _safe_indexing(pool, np.array([candidate]))),
                np.append(np.asarray(y), label),
            )
            expected += p * float(np.mean(1.0 - more.predict_proba(judges).max(axis=1)))
        result[candidate] = now - expected
    return result


def join(X: Any, more: Any) -> Any:
    """Rows below other rows of the same container."""
    if sparse.issparse(X):
        return sparse.vstack([X, more], format="csr")
    if nw.dependencies.is_into_dataframe(X):
        return nw.concat([nw.from_native(X), nw.from_native(more)]).to_native()
    return np.concatenate([np.asarray(X), np.asarray(more)])


# -------------------------------------------------------------------------------------------------
# Rows that are worth asking for together: each with a high score, and far from the others.


def spread_out(scores: Floats, x: Floats | None, k: int) -> Ints:
    """At most k rows with a score above zero or above −∞, the highest first.

    The next row has the largest product of its score, above the lowest candidate's, and its
    distance from the rows chosen, in standard deviations of the candidates.
    """
    open_ = np.flatnonzero(np.isfinite(scores) & (scores != 0.0))
    if x is None or k == 1 or len(open_) <= 1:
        return open_[np.argsort(-scores[open_], kind="stable")][:k]
    # Rows of the highest scores that are chosen from: for each row to choose, and at least.
    best = open_[np.lexsort((*x[open_].T, -scores[open_]))][: max(5 * k, 50)]
    z = Standardizer.from_rows(x[best], np.ones(len(best))).transform(x[best])
    low, high = float(scores[best].min()), float(scores[best].max())
    utility = (scores[best] - low) / (high - low) + 0.1 if high > low else np.ones(len(best))
    chosen = [0]
    nearest = np.linalg.norm(z - z[0], axis=1)
    while len(chosen) < min(k, len(best)):
        value = utility * nearest
        value[chosen] = -1.0
        chosen.append(int(value.argmax()))
        np.minimum(nearest, np.linalg.norm(z - z[chosen[-1]], axis=1), out=nearest)
    return best[chosen]


# -------------------------------------------------------------------------------------------------
# Simulated labeling: how many labels are saved by asking where a model is uncertain.


@dataclass(frozen=True, repr=False)
class ActiveCurve(Shown):
    """Errors on test rows against the number of labels, queried and drawn at random.

    Parameters
    ----------
    labels : ndarray of shape (m,)
        Numbers of labels.
    queried, random : ndarray of shape (repeats, m)
        Test errors of the models fitted to labels queried, and to as many drawn at random.
    level : float
        Probability of the intervals.
    seed : int
        What the simulation was drawn from.

    Attributes
    ----------
    difference : tuple of ndarray
        Mean of queried − random over the repeats at each number of labels, and its interval.
    saved : tuple of float
        Labels saved at the error that random labels reach at the end, and its interval.

    See Also
    --------
    active_curve : Run the simulation.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> errors = np.array([[0.4, 0.1, 0.1], [0.4, 0.2, 0.1]])
    >>> curve = sx.ActiveCurve(np.array([5, 10, 15]), errors, np.array([[0.4, 0.3, 0.15]] * 2))
    >>> round(curve.saved[0], 1)
    5.0
    """

    labels: Ints
    queried: Floats
    random: Floats
    level: float = 0.95
    seed: int = 0

    def interval(self, errors: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean over the repeats at each number of labels, with Student's interval."""
        n = len(errors)
        mean = errors.mean(axis=0)
        half = student.ppf(0.5 + self.level / 2, n - 1) * errors.std(axis=0, ddof=1) / np.sqrt(n)
        return mean, mean - half, mean + half

    @property
    def difference(self) -> tuple[Floats, Floats, Floats]:
        """Mean of queried − random over the repeats, and its interval: pairs share their split."""
        return self.interval(self.queried - self.random)

    @property
    def saved(self) -> tuple[float, float, float]:
        """Labels saved at the error that random labels reach at the end, and its interval.

        The number of labels at which the mean error falls to that of the last random one, between
        two numbers by interpolation; the interval is that of repeats drawn with replacement.
        """
        rng = np.random.default_rng(self.seed)
        n = len(self.queried)
        draws = [_saved_labels(self.labels, self.queried, self.random)]
        # Draws of repeats with replacement, for the interval of the labels saved.
        for _ in range(1000):
            rows = rng.integers(0, n, n)
            draws.append(_saved_labels(self.labels, self.queried[rows], self.random[rows]))
        tail = (1.0 - self.level) / 2
        low, high = np.quantile(draws[1:], [tail, 1.0 - tail])
        return draws[0], float(low), float(high)

    def __str__(self) -> str:
        mean, low, high = self.saved
        gap, below, above = (float(part[-1]) for part in self.difference)
        return (
            f"With {int(self.labels[-1])} labels the error is {self.queried[:, -1].mean():.3f} "
            f"where they were queried and {self.random[:, -1].mean():.3f} at random (difference "
            f"{gap:.3f}, {100 * self.level:g} % interval {below:.3f} to {above:.3f}). Asking saved "
            f"{mean:.0f} of {int(self.labels[-1])} labels ({low:.0f} to {high:.0f})."
        )


def _saved_labels(labels: Ints, queried: Floats, random: Floats) -> float:
    """Labels from the first at which the mean error is that of the last random labels."""
    goal, errors = float(random.mean(axis=0)[-1]), queried.mean(axis=0)
    reached = np.flatnonzero(errors <= goal)
    if not len(reached):
        return 0.0
    at = int(reached[0])
    if at == 0:
        return float(labels[-1] - labels[0])
    fall = (errors[at - 1] - goal) / (errors[at - 1] - errors[at])
    return float(labels[-1] - (labels[at - 1] + fall * (labels[at] - labels[at - 1])))


def active_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    start: int = 10,
    k: int = 5,
    labels: int = 60,
    strategy: str = "auto",
    repeats: int = 10,
    test_size: float = 0.3,
    level: float = 0.95,
    seed: int = 0,
) -> ActiveCurve:
    """Simulate labeling a table whose labels are known: queried, and at random.

    The error is the fraction of wrong classes, or of numbers the root mean squared error. In every
    repeat the rows are split into a pool and test rows. Both ways start with the same few
    labels, at least one of each class, and add ``k`` at a time: those :func:`query` chooses, or as
    many at random. The intervals are over repeats, which differ in split, start and random rows;
    they are of this table, whose rows the splits share.

    Parameters
    ----------
    estimator : classifier or regressor
        Is cloned and fitted; needs what the strategy needs.
    X, y : array-like or data frame, labels
        The table.
    start : int, default=10
        Labels at the start.
    k : int, default=5
        Labels added at a time.
    labels : int, default=60
        Labels at the end.
    strategy : str, default="auto"
        That of :func:`query`.
    repeats : int, default=10
        How often all is drawn anew.
    test_size : float, default=0.3
        Fraction of the rows that errors are measured on.
    level : float, default=0.95
        Probability of the intervals.
    seed : int, default=0
        The same seed gives the same curve.

    Returns
    -------
    ActiveCurve
        Errors, their intervals, and the labels saved.

    See Also
    --------
    query : Choose rows to label.

    References
    ----------
    B. Settles, Active learning literature survey, University of Wisconsin–Madison, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = (X[:, 0] > 0.618).astype(int)
    >>> model = sx.BoxClassifier(concept=1)
    >>> curve = sx.active_curve(model, X, y, start=4, k=1, labels=12, repeats=5)
    >>> bool(curve.queried[:, -1].mean() < curve.random[:, -1].mean())
    True
    """
    y = np.asarray(y)
    groups = np.zeros(len(y), dtype=np.int64) if is_regressor(estimator) else y
    _check(groups, start, k, labels, repeats, test_size, level)
    numbers = np.array([*range(start, labels, k), labels])
    queried, random = np.empty((2, repeats, len(numbers)))
    for r in range(repeats):
        rng = np.random.default_rng([seed, r])
        order = rng.permutation(len(y))
        test, pool = np.split(order, [round(test_size * len(y))])
        if len(pool) < labels:
            raise InputError(
                f"labels={labels}, and the pool has {len(pool)} rows.", remedy="Ask for fewer."
            )
        first = _first(groups, pool, start)
        rest = np.setdiff1d(pool, first)
        drawn = np.concatenate([first, rng.permutation(rest)])
        random[r] = [_error(estimator, X, y, drawn[:n], test) for n in numbers]
        queried[r] = _query_labels(estimator, X, y, first, rest, test, numbers, strategy, r)
    return ActiveCurve(numbers, queried, random, level, seed)


def _check(
    y: Any, start: int, k: int, labels: int, repeats: int, test_size: float, level: float
) -> None:
    classes = len(np.unique(y))
    if start < classes:
        raise InputError(f"start={start} labels cannot hold one of each of {classes} classes.")
    if k < 1 or labels <= start:
        raise InputError(f"k={k} must be above 0, and labels={labels} above start={start}.")
    if repeats < 2:
        raise InputError(f"repeats={repeats} give no interval.", remedy="Use 2 or more.")
    if not 0.0 < test_size < 1.0 or not 0.0 < level < 1.0:
        raise InputError(f"test_size={test_size} and level={level} must be between 0 and 1.")


def _first(y: Any, pool: Ints, start: int) -> Ints:
    """The first rows of a pool, one of each class among them."""
    labels, at = np.unique(y[pool], return_index=True)
    if len(labels) < len(np.unique(y)):
        raise InputError(
            "A class has no row outside the test rows of a repeat.",
            remedy="Leave rare classes out, or lower test_size.",
        )
    others = np.setdiff1d(np.arange(len(pool)), at)[: start - len(at)]
    return np.asarray(pool[np.concatenate([at, others])])


def _error(estimator: Any, X: Any, y: Any, rows: Ints, test: Ints) -> float:
    model = clone(estimator).fit(_safe_indexing(X, rows), y[rows])
    return error_on(model, _safe_indexing(X, test), y[test])


def error_on(model: Any, X: Any, y: Any) -> float:
    """The fraction of wrong classes, or the root mean squared error of numbers."""
    predicted = np.asarray(model.predict(X))
    if is_regressor(model):
        return float(np.sqrt(np.mean((predicted - y) ** 2)))
    return float(np.mean(predicted != y))


def _query_labels(
    estimator: Any,
    X: Any,
    y: Any,
    first: Ints,
    rest: Ints,
    test: Ints,
    numbers: Sequence[int] | Ints,
    strategy: str,
    seed: int,
) -> Floats:
    """Test errors with labels queried; where none would tell anything, the next rows are."""
    rows, left = first, rest
    errors = np.empty(len(numbers))
    model: Any = None
    for i, n in enumerate(numbers):
        if n > len(rows):
            training = (_safe_indexing(X, rows), y[rows])
            queried = query(
                model,
                _safe_indexing(X, left),
                n - len(rows),
                strategy=strategy,
                training=training,
                seed=seed,
            )
            others = np.setdiff1d(np.arange(len(left)), queried.rows)
            chosen = np.concatenate([queried.rows, others])[: n - len(rows)]
            rows, left = np.concatenate([rows, left[chosen]]), np.delete(left, chosen)
        model = clone(estimator).fit(_safe_indexing(X, rows), y[rows])
        errors[i] = error_on(model, _safe_indexing(X, test), y[test])
    return errors
