"""Training data of a path, and its cross-validated errors for all C at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.class_labels import CodedRows, outputs_of
from separatrix.kernels import Kernel, Linear, Precomputed
from separatrix.kernels.base import finite_diagonal
from separatrix.kernels.mercer import check_mercer
from separatrix.kernels.precomputed import training_gram
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.selection.folds import DEFAULT_FOLDS, Folds, copies_of, folds_of
from separatrix.svm.path.scores import Steps, error_steps, scores_along
from separatrix.svm.path.trace import SVMTrace, trace_svm

#: The paths, one for each output, over some of the training rows.
Traces = Callable[[Ints], list[SVMTrace]]
Array = TypeVar("Array", bound=NDArray[Any])

#: Standard deviations from zero at which inner products lose digits that matter.
FAR_AWAY = 1e3
#: Values of C at which several classes are compared.
GRID = 200


@dataclass(frozen=True)
class PathTraining:
    """Training data of a path: rows, class codes, weights, and the Gram matrix.

    That of the linear kernel may be centered: the intercept is free, so that nothing but it
    changes, and columns far from zero lose no digits. ``mercer`` says whether a feature map exists.
    """

    x: Matrix
    codes: Ints
    w: Floats
    gram: Floats
    rows: Ints
    n_samples: int
    center: Floats | None = None
    mercer: bool = True

    def traces(
        self, rows: Ints, labels: list[Any], C_max: float, max_changes: int
    ) -> list[SVMTrace]:
        """The path of each output over some of the rows; ``labels`` are the classes."""
        gram = self.gram if len(rows) == len(self.w) else self.gram[np.ix_(rows, rows)]
        found = []
        for own in outputs_of(len(labels)):
            y = np.where(self.codes[rows] == own, 1.0, -1.0)
            if (y[0] == y).all():
                raise InputError(
                    f"The training rows of a fold are all or none of class {labels[own]!r}.",
                    remedy="Use stratified folds, such as cv=5.",
                )
            found.append(trace_svm(gram, y, self.w[rows], C_max=C_max, max_changes=max_changes))
        return found

    def by_row(self, values: list[Array], absent: float) -> Array:
        """Values of the weighted rows as (n_samples,) or (n_samples, k); others are ``absent``."""
        whole = np.full((self.n_samples, len(values)), absent, dtype=values[0].dtype)
        whole[self.rows] = np.stack(values, axis=1)
        return cast(Array, whole[:, 0] if len(values) == 1 else whole)

    def hyperplanes(self, weights: Floats, b: Floats) -> tuple[Floats, Floats]:
        """w (k x d) of the linear kernel, and b for rows as given, from that for centered rows."""
        if self.center is None:
            return np.ascontiguousarray(np.asarray(self.x.T @ weights).T), b
        coef = np.ascontiguousarray(((self.x - self.center).T @ weights).T)
        return coef, b - coef @ self.center


def path_training(data: CodedRows, kernel: Kernel) -> PathTraining:
    """The Gram matrix of coded rows; warns (SEP007) if the kernel is not Mercer on them."""
    x = data.x
    if isinstance(kernel, Precomputed):
        x = training_gram(x, data.rows, data.n_samples)
    finite_diagonal(kernel, x)
    mercer = check_mercer(kernel, x)
    center = _distant_center(x) if isinstance(kernel, Linear) else None
    gram = np.asarray(kernel.gram(x if center is None else x - center), dtype=np.float64)
    return PathTraining(x, data.codes, data.w, gram, data.rows, data.n_samples, center, mercer)


def _distant_center(x: Matrix) -> Floats | None:
    """A center for dense rows that are far from zero; None if they are not.

    One standard deviation beside the mean: rows centered at the mean itself sum to zero, and
    rounding would decide which of the ties that follow come first.
    """
    if not isinstance(x, np.ndarray):
        return None
    mean, spread = x.mean(axis=0), x.std(axis=0)
    return mean + spread if (np.abs(mean) > FAR_AWAY * spread).any() else None


def path_folds(data: PathTraining, cv: Any) -> Folds:
    """Stratified folds of the weighted rows, at most as many as the rarest class has rows.

    Copies of a row are one row here, and in one fold.
    """
    cv, copied = DEFAULT_FOLDS if cv is None else cv, None
    if isinstance(cv, int | np.integer):
        # structures are no table: equal ones have equal rows of the Gram matrix
        columns = data.gram if isinstance(data.x, list) else data.x
        copied = copies_of(columns, data.codes.astype(str))
        distinct = slice(None) if copied is None else np.unique(copied, return_index=True)[1]
        rarest = int(np.bincount(data.codes[distinct]).min())
        if min(int(cv), rarest) < 2:
            raise InputError(
                f"cv={cv} folds cannot be made of n_samples={len(data.codes)} rows: the rarest "
                f"class has {rarest}{'' if copied is None else ' that differ'}.",
                remedy="Give at least 2 rows of each class and 2 folds, or give C.",
            )
        cv = min(int(cv), rarest)
    return folds_of(cv, data.n_samples, rows=data.rows, codes=data.codes, copied=lambda: copied)


def errors_for_all_C(
    data: PathTraining, folds: Folds, traces: Traces, C_max: float
) -> tuple[Floats, Floats]:
    """Two classes: a C between each two steps of the error, and the errors (m x folds)."""

    def error(train: Ints, test: Ints) -> Steps:
        y = np.where(data.codes[test] == 1, 1.0, -1.0)
        cross = data.gram[np.ix_(test, train)]
        return error_steps(traces(train)[0], cross, y, data.w[test], C_max)

    steps = folds.map(error)
    at = np.unique(np.concatenate([step.at for step in steps]))
    at = at[(at > 0.0) & (at < C_max)]
    bounds = np.concatenate([[at[0] / 4.0 if len(at) else C_max / 4.0], at, [C_max]])
    wide = bounds[1:] > bounds[:-1] * (1.0 + 1e-7)  # steps that differ by rounding are one
    Cs = np.sqrt(bounds[1:] * bounds[:-1])[wide]
    return Cs, np.stack([step(Cs) for step in steps], axis=1)


def errors_at_breakpoints(
    data: PathTraining, folds: Folds, traces: Traces, paths: list[SVMTrace], C_max: float
) -> tuple[Floats, Floats]:
    """More classes: the errors at breakpoints, evenly chosen among those of all classes."""
    found = np.unique(np.concatenate([p.breakpoints for p in paths]))
    found = found[found <= C_max] if len(found) else np.array([C_max])
    even = np.linspace(0, len(found) - 1, min(GRID, len(found))).astype(int)
    Cs = found[even]

    def error(train: Ints, test: Ints) -> Floats:
        cross, scores = data.gram[np.ix_(test, train)], []
        for path in traces(train):
            points = np.minimum(Cs, path.end)
            segments = np.array([path.segment_of(C) for C in points])
            scores.append(scores_along(path, cross, points, segments))
        wrong = np.argmax(np.stack(scores), axis=0) != data.codes[test][:, None]
        return np.asarray(np.average(wrong, axis=0, weights=data.w[test]))

    return Cs, np.stack(folds.map(error), axis=1)
