"""The test rows of a study scored by its model, and what intervals from them are worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.conformal.base import category_quantiles, check_level, clopper_pearson
from separatrix.rows.rows import InMemory
from separatrix.study.design import RowFolds, truth_of
from separatrix.study.result import Calibration, CoverageCheck, Score, Study, center_and_scale
from separatrix.study.tasks import CLASSIFICATION

#: Levels whose coverage is checked.
LEVELS = (0.8, 0.9, 0.95)


def calibrate_study(study: Study, folds: RowFolds) -> Calibration:
    """The scores of the test rows, or why they cannot calibrate."""
    refusal = _refusal(study, folds)
    if refusal:
        return Calibration("absolute", np.zeros(0), np.zeros(0, dtype=np.int64), refusal=refusal)
    rows = folds.table.take(_one_of_each(folds))
    w = rows.block.w
    if study.task == CLASSIFICATION:
        return _classes(study, rows, w)
    kind = "normalized" if study.uncertainty is not None else "absolute"
    center, scale = center_and_scale(study.model, rows, kind)
    scores = np.abs(truth_of(rows) - center) / scale
    codes = np.zeros(len(scores), dtype=np.int64)
    checks = _checks(study.seed, scores, codes, w, lambda q, at: 2.0 * q[0] * scale[at])
    return Calibration(kind, scores, codes, w, checks=checks)


def _refusal(study: Study, folds: RowFolds) -> str:
    """Why test rows are not a guide to new rows; empty if they are."""
    keys = folds.table.keys
    if keys.times is not None:
        return "rows are in order of time, so that later rows need not resemble the test rows."
    if keys.groups is not None:
        return "rows come in groups, so that those of a new group need not resemble the test rows."
    if study.task == CLASSIFICATION and not hasattr(study.model, "predict_proba"):
        return "the model has no probabilities."
    return ""


def _one_of_each(folds: RowFolds) -> Ints:
    """Test rows, of copies of a row the first: they are not independent evidence."""
    test, units = folds.test, folds.units
    if units is None:
        return test
    first = np.unique(units[test], return_index=True)[1]
    return np.asarray(test[np.sort(first)])


def _classes(study: Study, rows: InMemory, w: Floats | None) -> Calibration:
    """1 − p of the true class; a class that the model does not know has probability zero."""
    known = {str(label): i for i, label in enumerate(study.model.classes_)}
    truth = [str(label) for label in truth_of(rows)]
    p = np.asarray(study.model.predict_proba(rows), dtype=float)
    columns = np.array([known.get(label, -1) for label in truth])
    of_class = np.where(columns >= 0, p[np.arange(len(p)), np.maximum(columns, 0)], 0.0)
    at = {name: i for i, name in enumerate(study.classes)}
    codes = np.array([at.get(label, -1) for label in truth], dtype=np.int64)
    wanted = np.array([known[name] for name in study.classes])

    def sizes(q: Floats, part: Ints) -> Floats:
        return np.asarray((1.0 - p[part][:, wanted] <= q).sum(axis=1), dtype=float)

    scores = 1.0 - of_class
    used = codes >= 0  # a class in the test set alone is in no set, and no guarantee is about it
    checks = _checks(study.seed, scores, codes, w, sizes, study.classes)
    w = None if w is None else w[used]
    return Calibration("lac", scores[used], codes[used], w, study.classes, checks)


def _checks(
    seed: int,
    scores: Floats,
    codes: Ints,
    w: Floats | None,
    sizes: Any,
    classes: tuple[str, ...] = (),
) -> tuple[CoverageCheck, ...]:
    """Coverage with each half of the rows calibrated on the other, where that many suffice.

    Sizes are those with all rows, as new rows will have them. The rows of a class of which a half
    is too few are not checked: their sets hold the class in any case.
    """
    n, count = len(scores), max(1, len(classes))
    half, rng = np.zeros(n, dtype=bool), np.random.default_rng(seed)
    for k in range(count):
        mine = np.flatnonzero(codes == k)
        half[rng.permutation(mine)[: len(mine) // 2]] = True
    weights = np.ones(n) if w is None else w
    checks = []
    for level in LEVELS:
        exact = check_level(level)
        whole = category_quantiles(scores, w, codes, count, exact)[:-1]
        inside, checked = np.zeros(n, dtype=bool), np.isin(codes, np.arange(count))
        for part in (half, ~half):
            other = np.flatnonzero(~part)
            given = None if w is None else w[other]
            q = category_quantiles(scores[other], given, codes[other], count, exact)
            inside |= part & (scores <= q[codes])
            checked &= ~part | np.isfinite(q[codes])
        if not checked.any():
            continue
        size = sizes(whole, np.arange(n))
        counts = np.bincount(size.astype(int), weights, len(classes) + 1) if classes else ()
        by_class = [(name, checked & (codes == k)) for k, name in enumerate(classes)]
        checks.append(
            CoverageCheck(
                level,
                _score(inside[checked], weights[checked]),
                float(np.average(size, weights=weights)),
                {name: _score(inside[at], weights[at]) for name, at in by_class if at.any()},
                tuple(float(c) for c in counts),
            )
        )
    return tuple(checks)


def _score(inside: Any, w: Floats) -> Score:
    """The proportion of covered rows with its exact interval."""
    total = float(w.sum())
    covered = float(w @ inside)
    value = covered / total if total else float("nan")
    return Score("interval_coverage", value, *clopper_pearson(covered, total))
