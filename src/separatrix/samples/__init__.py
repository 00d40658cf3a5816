"""Built-in sample tables, as CSV files: ``sample:NAME`` in place of a path.

``diabetes``: 442 patients, ten measurements in their original units and a measure of disease
progression after one year; Efron, Hastie, Johnstone and Tibshirani, Least Angle Regression
(2004), as distributed with scikit-learn. The two codes of ``sex`` are levels: their meaning was
not published.
``wine``: 178 wines of one region from three cultivars, thirteen chemical measurements; Forina et
al., UCI Machine Learning Repository, as distributed with scikit-learn.
``houses``: synthetic, written by ``python -m separatrix.samples.houses``; levels, booleans and
missing values.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from separatrix.messages import InputError, did_you_mean

PREFIX = "sample:"


@dataclass(frozen=True)
class SampleTable:
    """A built-in table: its name, a description, and the usual target column."""

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
        SampleTable(
            "diabetes", "442 patients: ten measurements, progression a year on", "progression", 442
        ),
        SampleTable(
            "wine", "178 wines: thirteen chemical measurements, three cultivars", "cultivar", 178
        ),
        SampleTable(
            "houses", "600 synthetic houses: levels, missing values, a price", "price", 600
        ),
    )
}


def sample(name: str) -> SampleTable:
    """The sample called ``name``; an unknown name is refused with the closest one."""
    if name not in SAMPLES:
        raise InputError(
            f"There is no built-in table {name!r}.", remedy=did_you_mean(name, SAMPLES)
        )
    return SAMPLES[name]
