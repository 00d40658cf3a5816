"""What a study of a stream records of its reading: passes, samples, sums of the test part."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class StreamRecord:
    """Passes over the rows and why, rows of the samples, and sums over the whole test part.

    ``confusion`` holds weights by true class (the last row: a class that training does not have)
    and answer (the last column: a rejection). ``reliability`` holds, for ten equal bins of the
    probability of the predicted class, the mean probability, the frequency of right answers and
    the weight. ``auc_resolution`` is what ties of ranked scores may change of an area under a
    ROC curve. ``simulated`` rows stand for those of which there are only moments.
    """

    reason: str
    n_passes: int
    n_sampled: int
    n_test_sampled: int
    confusion: Floats
    reliability: Floats
    brier: float
    auc_resolution: float
    simulated: bool = False

    @property
    def sentence(self) -> str:
        """How the rows were read."""
        if self.simulated:
            return "Read from moments: no pass over the rows."
        return f"Read as a stream: {self.n_passes} passes."
