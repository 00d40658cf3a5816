"""What a study stores for guaranteed intervals and sets: the scores of its test rows.

The model was chosen and fitted without the test rows, so that they calibrate it by split conformal
prediction: a new row that is drawn as they were is covered with a probability of at least the
level. Of classes each has a quantile of its own, since the split deals every class by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.conformal.quantiles import category_quantiles, checked_level, rows_needed
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.study.score import Score


@dataclass(frozen=True)
class CoverageCheck:
    """Test rows covered at a level, either half calibrated by the other.

    ``coverage`` has its Clopper–Pearson interval; ``by_class`` is that of the rows of each class of
    which a half suffices. Calibrated by all test rows, ``size`` is the mean width of intervals or
    the mean number of labels in a set, and ``sizes`` how often a set has 0, 1, … labels.
    """

    level: float
    coverage: Score
    size: float
    by_class: dict[str, Score]
    sizes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """Scores of the test rows by the chosen model, which has not seen them.

    ``kind`` is "absolute" (|y − ŷ|), "normalized" (|y − ŷ|/s, s that of the model's predictive
    distribution) or "lac" (1 − p of the class). ``codes`` are the classes of the rows, zeros for
    numbers; ``classes`` are empty for numbers. ``refusal`` says why there is no guarantee, and
    then there are no scores.
    """

    kind: str
    scores: Floats
    codes: Ints
    w: Floats | None = None
    classes: tuple[str, ...] = ()
    checks: tuple[CoverageCheck, ...] = ()
    refusal: str = ""

    @property
    def n(self) -> int:
        """How many rows calibrate."""
        return len(self.scores)

    def quantiles(self, level: float) -> Floats:
        """The quantile of the scores; of classes, one for each."""
        if self.refusal:
            raise InputError(f"No guaranteed intervals: {self.refusal}")
        count = max(1, len(self.classes))
        exact = checked_level(level)
        return category_quantiles(self.scores, self.w, self.codes, count, exact)[:-1]

    def intervals(self, model: Any, rows: Any, level: float) -> Floats:
        """Lower and upper ends (n x 2) around the predictions of the model."""
        q = float(self.quantiles(level)[0])
        center, scale = center_and_scale(model, rows, self.kind)
        reach = np.full(len(center), np.inf) if np.isinf(q) else q * scale
        return np.stack([center - reach, center + reach], axis=1)

    def sets(self, model: Any, rows: Any, level: float) -> NDArray[np.bool_]:
        """Which classes of the model are in the set of every row (n x K)."""
        at = {name: i for i, name in enumerate(self.classes)}
        q = self.quantiles(level)
        known = [str(label) for label in model.classes_]
        limits = np.array([q[at[name]] if name in at else np.inf for name in known])
        return np.asarray(1.0 - model.predict_proba(rows) <= limits)

    def sentence(self, level: float) -> str:
        """What is guaranteed at a level, and under which condition."""
        percent = f"{100 * level:.6g} %"
        what = (
            "label of a new row is in its set"
            if self.classes
            else "target of a new row is in its interval"
        )
        whatever = ", whatever the label" if self.classes else ""
        return (
            f"The {what} with a probability of at least {percent}{whatever}, if the row is drawn "
            f"as the {self.n} test rows were, which the model has not seen (conformal prediction)."
        )

    def remarks(self, level: float) -> list[str]:
        """What is guaranteed, and what is without bounds since there are too few test rows."""
        lacking, needed = np.isinf(self.quantiles(level)), rows_needed(level)
        found = [self.sentence(level)]
        if lacking.any() and not self.classes:
            found.append(
                f"Intervals are infinite: {needed} test rows are needed, and there are {self.n}."
            )
        elif lacking.any():
            names = ", ".join(repr(c) for c, at in zip(self.classes, lacking, strict=True) if at)
            found.append(f"A class with fewer than {needed} test rows is in every set: {names}.")
        return found


def center_and_scale(model: Any, rows: Any, kind: str) -> tuple[Floats, Floats]:
    """Predictions, and what a score of one is at each of them."""
    if kind == "normalized":
        found = model.predictive(rows)
        return found.mean, np.maximum(found.scale, np.finfo(float).tiny)
    center = np.asarray(model.predict(rows), dtype=float)
    return center, np.ones(len(center))
