"""The closed table of models that a study compares, simplest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from separatrix.messages import InputError, did_you_mean
from separatrix.storage.registry import MODELS, class_in
from separatrix.study.tasks import CLASSIFICATION, REGRESSION

BASELINE = "baseline"

#: More terms than this are more than a polynomial can be trusted with.
MOST_POLYNOMIAL_TERMS = 500


@dataclass(frozen=True)
class Candidate:
    """A model that may win. ``from_moments`` says that moments are all it needs of the rows.

    ``tuned`` names the fitted attribute that holds what it chose by itself, on folds.
    """

    name: str
    label: str
    task: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    from_moments: bool = False
    tuned: str | None = None

    def make(self, folds: int) -> Any:
        """An estimator to fit; ``folds`` serve those that tune a penalty."""
        cls = class_in(MODELS, self.model)
        assert cls is not None, self.model
        return cls(**self.options, **({"cv": folds} if self.tuned else {}))


def _tuned(name: str, model: str) -> Candidate:
    """A penalised model, right whatever the units, its penalty chosen by cross-validation."""
    label = f"{name}, penalty by cross-validation"
    return Candidate(name, label, REGRESSION, model, {"standardize": True}, True, "alpha_")


#: In order of complexity: of two that are equally good, the one above is taken.
CANDIDATES = (
    Candidate(BASELINE, "the mean", REGRESSION, "MeanRegressor", from_moments=True),
    Candidate("linear", "least squares", REGRESSION, "LinearRegression", from_moments=True),
    _tuned("ridge", "RidgeCV"),
    _tuned("lasso", "LassoCV"),
    Candidate("huber", "outliers weigh less", REGRESSION, "HuberRegressor"),
    Candidate("least_absolute", "least absolute error", REGRESSION, "LeastAbsoluteRegressor"),
    Candidate("polynomial", "squares and products", REGRESSION, "PolynomialRegression"),
    Candidate(BASELINE, "most frequent class", CLASSIFICATION, "MostFrequentClassifier"),
    Candidate(
        "basic",
        "nearest class mean, scaled",
        CLASSIFICATION,
        "BasicLinearClassifier",
        {"scatter": "diagonal"},
    ),
    Candidate("least_squares", "least squares", CLASSIFICATION, "LeastSquaresClassifier"),
    Candidate("lda", "normal classes, one scatter", CLASSIFICATION, "LinearDiscriminantAnalysis"),
    Candidate("logistic", "likeliest probabilities", CLASSIFICATION, "LogisticRegression"),
    Candidate(
        "rda", "normal classes, scatter mixed", CLASSIFICATION, "RegularizedDiscriminantAnalysis"
    ),
)


def candidates(
    task: str, asked: Sequence[str] | None, terms: int
) -> tuple[list[Candidate], list[str]]:
    """Those to compare, the baseline always among them; and a sentence on any that was left out.

    ``terms`` is the number of columns of the design, by which a polynomial may grow too large.
    """
    known = {c.name: c for c in CANDIDATES if c.task == task}
    if asked is None:
        kept = dict(known)
        if "polynomial" in kept and _products(terms) > MOST_POLYNOMIAL_TERMS:
            del kept["polynomial"]
            said = (
                f"The polynomial is left out: {terms} columns give {_products(terms)} squares and "
                "products (to try it all the same: --models polynomial)."
            )
            return list(kept.values()), [said]
        return list(kept.values()), []
    for name in asked:
        if name not in known:
            other = any(c.name == name for c in CANDIDATES)
            what = f"{name!r} is not a model for {task}." if other else f"No model {name!r}."
            raise InputError(what, remedy=did_you_mean(name, list(known)))
    return [c for c in known.values() if c.name in {BASELINE, *asked}], []


def _products(terms: int) -> int:
    return terms * (terms + 3) // 2
