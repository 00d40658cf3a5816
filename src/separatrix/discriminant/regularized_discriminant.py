"""Gaussian classes between three extremes, the place between them chosen by cross-validation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.discriminant.class_covariances import Mix
from separatrix.discriminant.gaussian_classifier import GaussianClassifier, Settings, class_priors
from separatrix.discriminant.regularization_search import (
    ClassFold,
    class_folds,
    held_out_losses,
    table_folds,
)
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import Rows
from separatrix.selection.folds import folding
from separatrix.selection.rules import minimum
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import prepare_classes


class RegularizedDiscriminantAnalysis(GaussianClassifier):
    """Σₖ = α σ²I + β S + (1 − α − β) Sₖ, with α and β by cross-validation over the triangle.

    α = β = 0 is the quadratic discriminant, β = 1 the linear one, and α = 1 the nearest mean on
    columns of unit deviation, which is what σ²I is meant for: units do not matter. The rows are
    read once, into moments by class and fold; every training covariance follows from those. On a
    ray of constant β : (1 − α − β) the eigenvectors do not depend on α, so that one rotation of
    the held-out rows serves every point on it. A table is held in memory for this; in every fold
    its gaps are filled, and its levels known, from the training rows alone.

    Parameters
    ----------
    alphas, betas : int or array, default=11
        Values to try, or how many from 0 to 1; pairs with α + β ≤ 1 are used.
    cv : int, splitter or list of (train, test), default=5
        A number means folds in which every class is spread evenly.
    criterion : {"log_loss", "error"}, default="log_loss"
        What the held-out rows are judged by; of equals the simplest model wins.
    priors : array of K numbers, "uniform" or None, default=None
        Probabilities of the classes; the shares of the rows by default.

    Attributes
    ----------
    alpha_, beta_ : the pair that was chosen, ``best_score_`` its mean held-out loss.
    grid_ : (P, 2), all pairs; ``cv_log_loss_`` and ``cv_error_`` (P, folds) are their losses,
        infinite where a class would be singular.
    """

    def __init__(
        self,
        alphas: Any = 11,
        betas: Any = 11,
        *,
        cv: Any = 5,
        criterion: str = "log_loss",
        priors: Any = None,
    ) -> None:
        self.alphas = alphas
        self.betas = betas
        self.cv = cv
        self.criterion = criterion
        self.priors = priors

    def _settings(self) -> Settings:
        mix = Mix(getattr(self, "alpha_", 0.0), getattr(self, "beta_", 0.0))
        return Settings("full", mix, self.priors)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        if self.criterion not in ("log_loss", "error"):
            raise InputError(
                f"criterion={self.criterion!r} is not known.",
                remedy="Choose 'log_loss' or 'error'.",
            )
        self.grid_ = triangle(self.alphas, self.betas)
        if isinstance(X, Rows):
            folds, whole, encoding = self._table_folds(X, y, sample_weight)
        else:
            rows = self._coded_rows(X, y, sample_weight)
            rows = rows.take(folding(rows.block.w, self.cv))
            folds, whole = class_folds(rows, self.cv, len(self.classes_))
            encoding = identity(rows.schema)
        priors = None if self.priors is None else class_priors(self.priors, whole.weight)
        self.cv_log_loss_, self.cv_error_ = held_out_losses(folds, self.grid_, priors)
        self._choose()
        self._learn(whole, encoding)
        return self

    def _table_folds(
        self, X: Rows, y: Any, sample_weight: Any
    ) -> tuple[list[ClassFold], ClassMoments, Encoding]:
        """Folds of a table in memory, since its held-out rows are scored, and the whole of it."""
        rows = self._class_rows(X, y, sample_weight).read()
        rows = rows.take(folding(rows.block.w, self.cv))
        prepared = prepare_classes(rows)
        terms = self._class_terms(rows, prepared.targets)
        whole = ClassMoments.from_moments("full", [prepared.of(term) for term in terms])
        return table_folds(rows, self.cv, terms), whole, prepared.encoding

    def _choose(self) -> None:
        losses = self.cv_log_loss_ if self.criterion == "log_loss" else self.cv_error_
        mean = losses.mean(axis=1)
        if not np.isfinite(mean).any():
            raise InputError(
                "Under every pair of alpha and beta some class is singular in some fold.",
                remedy="Give more rows of each class, fewer folds, or alphas and betas above 0.",
            )
        best = minimum(self.grid_.sum(axis=1), losses)
        self.alpha_, self.beta_ = (float(value) for value in self.grid_[best])
        self.best_score_ = float(mean[best])


def triangle(alphas: Any, betas: Any) -> Floats:
    """All pairs (α, β) with α + β ≤ 1."""
    a, b = _values(alphas, "alphas"), _values(betas, "betas")
    pairs = np.array([(p, q) for p in a for q in b if p + q <= 1 + 1e-9])
    if not len(pairs):
        raise InputError("No pair of alphas and betas has a sum of at most 1.")
    pairs[:, 1] = np.minimum(pairs[:, 1], 1.0 - pairs[:, 0])
    return pairs


def _values(given: Any, name: str) -> Floats:
    if np.ndim(given) == 0:
        if int(given) != given or given < 1:
            raise InputError(f"{name}={given} must be a whole number of values, or the values.")
        return np.linspace(0.0, 1.0, int(given))
    values = np.unique(np.asarray(given, dtype=float))
    if not len(values) or not ((values >= 0) & (values <= 1)).all():
        raise InputError(f"{name} must lie between 0 and 1.")
    return values
