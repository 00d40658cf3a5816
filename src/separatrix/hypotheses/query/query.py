"""Rows of a pool whose labels would tell most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_clusterer, is_regressor

from separatrix.hypotheses.query.diversity import spread_out
from separatrix.hypotheses.query.strategies import (
    between_boxes,
    committee,
    disagreement,
    expected_error_reduction,
    smallest_margin,
)
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import Rows

STRATEGIES = ("auto", "version_space", "margin", "disagreement", "error_reduction")
REASONS = {
    "version_space": "between the most specific and the most general boxes",
    "margin": "the two likeliest classes are close",
    "disagreement": "models that fit the rows disagree",
    "error_reduction": "the label is expected to lower the error most",
}


@dataclass(frozen=True)
class Query:
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

    References
    ----------
    B. Settles, Active learning literature survey, University of Wisconsin–Madison, 2009.

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
    model : classifier, or list of classifiers
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
        "auto" is version_space for those, disagreement for lists, and margin else.
    training : (X, y), default=None
        The labeled rows, for disagreement of one model and for error reduction.
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
    for member in model if isinstance(model, Sequence) else [model]:
        if is_regressor(member) or is_clusterer(member):
            raise InputError(
                f"{type(member).__name__} is not a classifier: what a label would tell is asked of "
                "classes.",
                remedy="For numbers, ask where the predictive distribution is widest "
                "(GaussianProcessRegressor.predictive) or models of a list differ most.",
            )
    if not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k={k!r} must be a whole number above zero.")
    several = isinstance(model, Sequence)
    if strategy == "auto":
        strategy = "version_space" if hasattr(model, "certainty") else "margin"
        strategy = "disagreement" if several else strategy
    scores = _scores(model, pool, strategy, training, seed, several)
    one = model[0] if several else model
    x = _coordinates(one, pool) if diverse and k > 1 else None
    rows = spread_out(scores, x, int(k))
    return Query(rows, scores[rows], strategy, _note(strategy, len(rows), int(k), len(scores)))


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
        found = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=float)
    except (TypeError, ValueError):
        return None
    return found if found.ndim == 2 and np.isfinite(found).all() else None


def _note(strategy: str, found: int, k: int, n: int) -> str:
    if found >= k or found == n:
        return ""
    if strategy == "version_space":
        which = f"Only {found} of {n:,} rows are" if found else "No row is"
        rest = "the others would tell" if found else "no label would tell"
        end = "nothing" if found else "anything"
        return f"{which} {REASONS['version_space']}: {rest} {end}."
    return f"Only {found} of {n:,} rows have a score."
