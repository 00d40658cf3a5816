"""Built-in tables to try things on, as CSV files: ``sample:NAME`` in place of a path.

``diabetes``: 442 patients, ten measurements in their original units and how far the disease had
gone a year later; Efron, Hastie, Johnstone and Tibshirani, Least Angle Regression (2004), as
distributed with scikit-learn. The two codes of ``sex`` are kept as levels: their meaning was not
published.
``wine``: 178 wines of one region from three cultivars, thirteen chemical measurements; Forina et
al., UCI Machine Learning Repository, as distributed with scikit-learn.
``houses``: synthetic, written by ``python -m separatrix.samples.houses``; levels, booleans, gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from separatrix.messages import InputError

PREFIX = "sample:"


@dataclass(frozen=True)
class Sample:
    """A built-in table: its name, what it is, and the column that people predict."""

    name: str
    about: str
    target: str
    rows: int

    @property
    def path(self) -> Path:
        """The CSV file."""
        return Path(__file__).with_name(f"{self.name}.csv")


SAMPLES = {
    sample.name: sample
    for sample in (
        Sample(
            "diabetes", "442 patients: ten measurements, progression a year on", "progression", 442
        ),
        Sample(
            "wine", "178 wines: thirteen chemical measurements, three cultivars", "cultivar", 178
        ),
        Sample("houses", "600 synthetic houses: levels, gaps, a price", "price", 600),
    )
}


def sample(name: str) -> Sample:
    """The sample called ``name``; refuses an unknown name with the nearest one."""
    if name not in SAMPLES:
        near = get_close_matches(name, SAMPLES, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise InputError(
            f"There is no built-in table {name!r}.",
            remedy=f"{hint}The built-in tables are {', '.join(SAMPLES)}.",
        )
    return SAMPLES[name]
