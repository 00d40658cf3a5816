"""The search for the parameters of support vector classifiers."""

from __future__ import annotations

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Ints
from separatrix.selection.tuning import TuningData
from separatrix.svm.tuning.losses import ClassLoss
from separatrix.svm.tuning.problems import pair_problems, rest_problems
from separatrix.svm.tuning.result import SVMTuning, tuning_of
from separatrix.svm.tuning.sample import Sample, dense
from separatrix.svm.tuning.search import staged_search
from separatrix.svm.tuning.validation import C_GRID, Validation
from separatrix.svm.tuning.work import first_rows


def gaussian_classes(sample: Sample, deadline: float = np.inf) -> SVMTuning:
    """C and bandwidth of the SVMs of all pairs of classes."""
    first = first_rows(sample.data.n_classes)
    return tuning_of(sample, staged_search(_pair_validation, sample, first, deadline).points)


def _pair_validation(sample: Sample) -> Validation:
    codes, order = _sorted_codes(sample)
    problems = pair_problems(codes[order], sample.data.n_classes, sample.w[order])
    return Validation(sample, problems, _loss(sample, codes), order)


def linear_classes(sample: Sample) -> SVMTuning:
    """C of the linear SVMs of every class against the rest."""
    codes, order = _sorted_codes(sample)
    problems = rest_problems(codes[order], sample.data.n_classes, sample.w[order])
    validation = Validation(sample, problems, _loss(sample, codes), order)
    z = sample.z[order]
    gram = np.ascontiguousarray(dense(z @ z.T), dtype=np.float32)
    return tuning_of(sample, validation.points(gram, range(len(C_GRID))))


def _sorted_codes(sample: Sample) -> tuple[Ints, Ints]:
    """Class codes, and the order that sorts them."""
    codes = np.asarray(sample.data.y, dtype=np.int64)[sample.rows]
    return codes, np.argsort(codes, kind="stable")


def _loss(sample: Sample, codes: Ints) -> ClassLoss:
    tested = sample.tested
    return ClassLoss(codes[tested], sample.w[tested], sample.fold[tested], sample.data.loss)


def require_classes(data: TuningData) -> None:
    """Refuse folds whose training rows lack a class."""
    codes, w = np.asarray(data.y, dtype=np.int64), np.asarray(data.w, dtype=float)
    for f, (train, _) in enumerate(data.folds.pairs):
        sizes = np.bincount(codes[train], w[train], data.n_classes)
        if (sizes <= 0.0).any():
            raise InputError(
                f"The training rows of fold {f} lack class {int(sizes.argmin())}.",
                remedy="Use fewer folds, or folds that spread the rows of every class.",
            )
