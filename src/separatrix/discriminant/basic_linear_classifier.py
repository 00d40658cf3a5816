"""Classification by class means: the hyperplane between them, under four measures of distance."""

from __future__ import annotations

from functools import reduce
from typing import Any, Self

import numpy as np
from scipy import linalg

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.schema import Terms
from separatrix.statistics.class_preparation import MomentsByClass
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare
from separatrix.statistics.standardizer import Standardizer

EPS = float(np.finfo(float).eps)
_MEASURES = {
    "identity": "straight-line distance, which depends on the units of the columns",
    "diagonal": "distance in standard deviations of each column, free of units",
    "pooled": "distance in units of the scatter within classes, free of units and of correlation",
    "total": "distance in units of XᵀX, free of units",
}


class BasicLinearClassifier(LinearClassifier):
    """w = M⁻¹(n⁺μ⁺ − n⁻μ⁻): class means, and a matrix M that says how to measure between them.

    With n⁺ = n⁻ = 1 the hyperplane w·x = t bisects the segment between the means, t = w·(μ⁺+μ⁻)/2;
    K classes go to the nearest mean, scores (x − x̄)·M⁻¹mₖ − ½ mₖ·M⁻¹mₖ with mₖ = μₖ − x̄.
    With ``prevalence`` the n are the shares of the classes and t = 0 (K classes: scores
    nₖ x·M⁻¹μₖ); this and ``scatter="total"`` is least squares without intercept.

    Parameters
    ----------
    scatter : {"identity", "diagonal", "pooled", "total"}, default="identity"
        M: the identity; the variances of the columns; the covariance within classes; XᵀX/N.
        The first depends on the units of the columns by definition, the others do not.
    prevalence : bool, default=False
        Whether each mean counts as much as its class has rows.

    Attributes
    ----------
    class_means_ : (K, d), the means of the design columns by class.
    class_shares_ : (K,), the share of each class in the weight of all rows.
    normal_, threshold_ : w and t of two classes (rows of w and t per class for more).
    """

    class_moments_: list[Moments]

    def __init__(self, *, scatter: str = "identity", prevalence: bool = False) -> None:
        self.scatter = scatter
        self.prevalence = prevalence

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        rows = self._class_rows(X, y, sample_weight)
        prepared = prepare(rows)
        terms = self._class_terms(rows, prepared.moments.targets)
        self._learn(prepared.rows.reduce(MomentsByClass()), terms, prepared.encoding)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists what may come."""
        self._check()
        first = not hasattr(self, "class_moments_")
        before = [] if first else self._terms()
        rows = self._class_rows(
            X, y, sample_weight, known=self._known_classes(classes), reset=first
        )
        if not isinstance(rows, ArrayRows):
            raise InputError(
                "partial_fit takes numeric X and labels y.", remedy="Call fit for a table."
            )
        terms = self._class_terms(rows, rows.block.targets)
        seen = (
            MomentsByClass()
            if first
            else MomentsByClass(dict(zip(before, self.class_moments_, strict=True)))
        )
        self._learn(seen + rows.reduce(MomentsByClass()), terms, identity(rows.schema))
        return self

    def _check(self) -> None:
        if self.scatter not in _MEASURES:
            raise InputError(
                f"scatter={self.scatter!r} is no known measure.",
                remedy=f"Choose one of {', '.join(map(repr, _MEASURES))}.",
            )

    def _learn(self, by_class: MomentsByClass, terms: Terms, encoding: Encoding) -> None:
        parts = [by_class.parts.get(term, Moments()) for term in terms]
        design = next(part.terms for part in parts if part.count)
        parts = [part.aligned(design, Terms(())) for part in parts]
        total = reduce(lambda a, b: a + b, parts)
        self.class_moments_ = parts
        self.class_means_ = np.array([p.x_mean if p.count else total.x_mean for p in parts])
        self.class_shares_ = np.array([part.weight for part in parts]) / total.weight
        centre = np.zeros(total.d) if self.prevalence else total.x_mean
        size = self.class_shares_ if self.prevalence else np.ones(len(parts))
        means = self.class_means_ - centre
        normals = size[:, None] * measured(means, self.scatter, parts, total)
        offsets = -normals @ centre
        if not self.prevalence:
            offsets -= 0.5 * np.einsum("kd,kd->k", normals, means)
        if len(parts) == 2:
            normals, offsets = np.diff(normals, axis=0), np.diff(offsets)
        self._accept(Solution(normals.T, offsets, self._certificate()), encoding, flat=False)

    def _certificate(self) -> Certificate:
        notes = [f"Measured by {_MEASURES[self.scatter]}."]
        if self.prevalence and self.scatter == "total":
            notes.append("With the shares of the classes this is least squares without intercept.")
        claim = "Class means: a closed form; no optimality is claimed beyond "
        claim += "the direction" if self.prevalence else "lying halfway between the means"
        return Certificate(
            claim,
            notes=tuple(notes),
            promised=(),
        )

    @property
    def normal_(self) -> Floats:
        """w."""
        return self.coef_[0] if len(self.classes_) == 2 else self.coef_

    @property
    def threshold_(self) -> Any:
        """t, where w·x = t is the boundary."""
        return -float(self.intercept_[0]) if len(self.classes_) == 2 else -self.intercept_


def measured(means: Floats, scatter: str, parts: list[Moments], total: Moments) -> Floats:
    """M⁻¹μ for every row μ of ``means``; columns that never vary get no weight."""
    if scatter == "identity":
        return means.copy()
    variance = np.diag(total.xx) / total.weight
    varies = Standardizer.from_moments(total).scale > 0.0
    if scatter == "diagonal":
        return np.asarray(np.where(varies, means / np.where(varies, variance, 1.0), 0.0))
    if scatter == "total":
        raw = total.about_origin().xx / total.weight
        return _inverse_times(raw, raw, means)
    flat = np.where(np.outer(varies, varies), total.xx, 0.0) / total.weight
    within = np.sum([part.xx for part in parts], axis=0) / total.weight
    return _inverse_times(within, flat, means)


def _inverse_times(m: Floats, from_fitted: Floats, means: Floats) -> Floats:
    """M⁻¹μ within the span of the rows, found from ``around``, the scatter of all of them.

    A direction in which all rows agree is dropped. One in which only the rows of each class agree
    separates the classes by itself: it is kept, with a scatter of rounding size.
    """
    unit = np.sqrt(np.maximum(np.diag(from_fitted), 0.0))
    unit[unit == 0] = 1.0
    values, v = linalg.eigh(from_fitted / np.outer(unit, unit))
    kept = values > 10 * len(unit) * EPS * values.max(initial=0.0)
    to_white = v[:, kept] / np.sqrt(values[kept]) / unit[:, None]
    inner, u = linalg.eigh(to_white.T @ m @ to_white)
    inner = np.maximum(inner, 1e-12 * inner.max(initial=0.0) + np.finfo(float).tiny)
    turned = means @ to_white @ u
    return np.asarray((turned / inner) @ u.T @ to_white.T)
