"""Cross-validation of SVMs along C, for one Gram matrix at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints
from separatrix.svm.pairs import coupled_scores
from separatrix.svm.tuning.fold_path import FEW_ROWS, FINE_TOLERANCE, TOLERANCE, FoldPath
from separatrix.svm.tuning.losses import Loss
from separatrix.svm.tuning.problems import Problems
from separatrix.svm.tuning.sample import Sample
from separatrix.threads import parallel_map

#: C in units of 1/variance: from all rows within the margin to hardly any.
C_GRID = 10.0 ** np.arange(-1.0, 3.25, 0.5)
#: Relative increase of the loss after which larger C are not tried.
INCREASE = 0.02
#: Relative change of the loss that is none.
FLAT = 1e-3


@dataclass(frozen=True)
class Point:
    """One combination of parameters: losses by fold, and scores of the rows that are tested.

    ``at`` is the place of C in :data:`C_GRID`; ``n_support`` the number of support vectors, a row
    counted by the share of its SVMs in which it is one; ``row_iterations`` the iterations of SMO
    times rows, up to this C in one fold.
    """

    at: int
    C: float
    bandwidth: float
    epsilon: float
    losses: Floats
    scores: Floats
    n_support: float
    row_iterations: float = 0.0

    @property
    def loss(self) -> float:
        """The mean over the folds."""
        return float(self.losses.mean())

    @property
    def parameters(self) -> dict[str, float]:
        """C, with bandwidth and ε where there are any."""
        more = {"bandwidth": self.bandwidth, "epsilon": self.epsilon}
        return {"C": self.C} | {name: value for name, value in more.items() if value >= 0.0}


@dataclass
class Validation:
    """The problems of a sample with their loss: losses of every C for a Gram matrix.

    ``order`` are the rows in the order of the Gram matrix and of the problems; ``work`` counts
    iterations of SMO times rows.
    """

    sample: Sample
    problems: Problems
    loss: Loss
    order: Ints
    work: float = 0.0

    @property
    def tol(self) -> float:
        """Violation of the KKT conditions that is left."""
        return FINE_TOLERANCE if self.sample.n <= FEW_ROWS else TOLERANCE

    @cached_property
    def pairs(self) -> list[tuple[Ints, Ints]]:
        """Training and test rows of each fold, as places in the order."""
        place = np.empty(self.sample.n, dtype=np.int64)
        place[self.order] = np.arange(self.sample.n)
        return [(place[train], place[test]) for train, test in self.sample.pairs]

    def points(
        self,
        gram: NDArray[Any],
        places: range,
        bandwidth: float = -1.0,
        epsilon: float = -1.0,
        enough: int = len(C_GRID),
    ) -> list[Point]:
        """One C after the other, until the loss has increased twice in a row.

        From the place ``enough`` on, one increase ends the path.
        """
        variance = feature_variance(gram, self.sample.w[self.order])
        unit = 1.0 / variance if variance > 1e-12 * abs(float(gram[0, 0])) else 1.0
        found: list[Point] = []
        grams = self.problems.grams(gram)
        paths = [FoldPath(gram, grams, self.problems, a, b, self.tol) for a, b in self.pairs]
        for at in places:
            C = float(C_GRID[at] * unit)
            parts = parallel_map(lambda path, C=C: _solved(path, C), paths)  # type: ignore[misc]
            found.append(self._point(at, C, bandwidth, epsilon, paths, parts))
            losses = [point.loss for point in found]
            if (at >= enough and losses[-1] > min(losses)) or _past_the_best(losses):
                break
        self.work += sum(path.work for path in paths)
        return found

    def _point(
        self,
        at: int,
        C: float,
        bandwidth: float,
        epsilon: float,
        paths: list[FoldPath],
        parts: list[Floats],
    ) -> Point:
        scores = np.full((self.sample.n, parts[0].shape[1]), np.nan)
        for (_, test), part in zip(self.pairs, parts, strict=True):
            scores[self.order[test]] = part
        scores = scores[self.sample.tested]
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        share = sum(path.n_support for path in paths) / max(len(paths) - 1, 1)
        work = sum(path.work for path in paths) / len(paths)
        return Point(at, C, bandwidth, epsilon, self.loss.by_fold(scores), scores, share, work)


def _past_the_best(losses: list[float]) -> bool:
    """Whether the loss increased twice in a row, or no longer changes."""
    if len(losses) < 3:
        return False
    last, best = losses[-3:], min(losses)
    return min(last[1:]) > (1.0 + INCREASE) * best or max(last) - min(last) <= FLAT * best


def _solved(path: FoldPath, C: float) -> Floats:
    """Scores of the test rows at C."""
    path.solve(C)
    scores = path.scores()
    return coupled_scores(scores, path.problems.pairs) if path.problems.pairs else scores


def feature_variance(gram: NDArray[Any], w: Floats) -> float:
    """Weighted mean squared distance from the mean in the feature space."""
    p = w / w.sum()
    return float(p @ np.diag(gram) - p @ (gram @ p.astype(gram.dtype)))
