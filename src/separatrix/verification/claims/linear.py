"""Claims of linear models of numbers: which parameters define their objective."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from separatrix.verification.claims.elastic_net import elastic_net_claims
from separatrix.verification.claims.quadratic import quadratic_claims
from separatrix.verification.claims.sums import Sums, recorded_moments, sums_of
from separatrix.verification.design import Blocks, Design
from separatrix.verification.stored.container import Tensor
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import Claim, equal, recorded

#: Relative gap and KKT residual that these certificates promise.
CLOSED_FORM, ITERATIVE = 1e-8, 1e-8
ZERO = Fraction(0)


def coefficients(model: Record) -> tuple[list[list[float]], list[float]]:
    """Coefficients, a row for each target, and intercepts."""
    coef, intercept = model["coef_"], model["intercept_"]
    rows = [coef.values] if len(coef.shape) == 1 else coef.rows
    given = intercept.values if isinstance(intercept, Tensor) else [float(intercept)]
    return rows, given if len(given) == len(rows) else [given[0]] * len(rows)


def names_of(model: Record, d: int) -> list[str]:
    """The columns of the design by name."""
    encoding = model.get("encoding_")
    if not isinstance(encoding, Record):
        return [f"x{j}" for j in range(d)]
    return [_term_name(term) for term in encoding["terms"]["items"]]


def _term_name(term: Record) -> str:
    if term["missing"]:
        return f"{term['column']} missing"
    return str(term["column"] if term["level"] is None else f"{term['column']}={term['level']}")


def least_squares(model: Record, blocks: Blocks) -> list[Claim]:
    """``LinearRegression``: f is the sum of squares; with b ≥ 0 a lasso without penalty."""
    sums = sums_of(blocks)
    fit_intercept = bool(model.params.get("fit_intercept", True))
    claims = recorded_moments(sums, model.get("moments_"))
    if model.params.get("positive"):
        return claims + _penalized(model, sums, Fraction(0), Fraction(1))
    return claims + _quadratic(model, sums, [Fraction(0)] * len(sums.targets), fit_intercept)


def classes(model: Record, blocks: Blocks) -> list[Claim]:
    """``LeastSquaresClassifier``: targets ±1 of two classes, one-hot of more."""
    known = model["classes_"].values
    coded = (_coded(block, known) for block in blocks)
    return _quadratic_of(model, sums_of(coded))


def _coded(block: Design, known: list[Any]) -> Design:
    codes = block.classes(known)
    columns = [1] if len(known) == 2 else range(len(known))
    low = -1.0 if len(known) == 2 else 0.0
    targets = [[1.0 if code == k else low for code in codes] for k in columns]
    return Design(block.columns, targets, block.weights)


def _quadratic_of(model: Record, sums: Sums) -> list[Claim]:
    moments = model.get("moments_")
    claims = (
        [equal("rows", "Number of training rows", moments["count"], sums.count)] if moments else []
    )
    fit_intercept = bool(model.params.get("fit_intercept", True))
    return claims + _quadratic(model, sums, [ZERO] * len(sums.targets), fit_intercept)


def ridge(model: Record, blocks: Blocks) -> list[Claim]:
    """``Ridge`` and ``RidgeCV``: the penalty α Σ (s b)²."""
    sums = sums_of(blocks)
    claims = recorded_moments(sums, model.get("moments_"))
    if model.params.get("positive"):
        return claims + _penalized(model, sums, chosen(model, "alpha") / sums.weight, Fraction(0))
    return claims + _quadratic(
        model, sums, alphas(model, sums), bool(model.params.get("fit_intercept", True))
    )


def alphas(model: Record, sums: Sums) -> list[Fraction]:
    """α of every target."""
    found = model.get("alpha_", model.params.get("alpha", 1.0))
    values = found.values if isinstance(found, Tensor) else found
    if isinstance(values, list):
        return [Fraction(value) for value in values]
    return [Fraction(values)] * len(sums.targets)


def chosen(model: Record, name: str) -> Fraction:
    """A hyperparameter that was chosen, or given."""
    found = model.get(f"{name}_")
    return Fraction(model.params[name] if found is None else found)


def _quadratic(
    model: Record, sums: Sums, alpha: list[Fraction], fit_intercept: bool
) -> list[Claim]:
    coef, intercept = coefficients(model)
    standardized = bool(model.params.get("standardize"))
    spread = sums.centered if fit_intercept else sums.matrix
    squares = [spread[j][j] / sums.weight if standardized else 1 for j in range(1, sums.d + 1)]
    listed = set(model["certificate_"]["dependent"])
    return quadratic_claims(
        sums,
        coef,
        intercept,
        [[a * s for s in squares] for a in alpha],
        model["certificate_"],
        fit_intercept=fit_intercept,
        tolerance=CLOSED_FORM,
        dependent=[j for j, name in enumerate(names_of(model, sums.d), 1) if name in listed],
    )


def elastic_net(model: Record, blocks: Blocks) -> list[Claim]:
    """``Lasso``, ``ElasticNet`` and ``LassoCV``."""
    sums = sums_of(blocks)
    l1_ratio = Fraction(model.params.get("l1_ratio", 1.0))
    claims = recorded_moments(sums, model.get("moments_"))
    return claims + _penalized(model, sums, chosen(model, "alpha"), l1_ratio)


def _penalized(model: Record, sums: Sums, alpha: Fraction, l1_ratio: Fraction) -> list[Claim]:
    coef, intercept = coefficients(model)
    return elastic_net_claims(
        sums,
        coef,
        intercept,
        model["certificate_"],
        alpha=alpha,
        l1_ratio=l1_ratio,
        standardize=bool(model.params.get("standardize")),
        positive=bool(model.params.get("positive")),
        fit_intercept=bool(model.params.get("fit_intercept", True)),
        tolerance=ITERATIVE,
    )


def mean(model: Record, blocks: Blocks) -> list[Claim]:
    """``MeanRegressor``: the intercept is the mean of the target."""
    sums = sums_of(blocks)
    claims = recorded_moments(sums, model.get("moments_"))
    _, intercept = coefficients(model)
    for y, value in zip(sums.targets, intercept, strict=True):
        claims.append(
            recorded("mean", "The mean of the target", value, sums.mean(y), Fraction(0), 12)
        )
    return claims


def _family(
    claims: Callable[[Record, Blocks], list[Claim]], *names: str
) -> dict[str, Callable[[Record, Blocks], list[Claim]]]:
    return dict.fromkeys(names, claims)


MODELS: dict[str, Any] = {
    **_family(least_squares, "LinearRegression"),
    **_family(classes, "LeastSquaresClassifier"),
    **_family(ridge, "Ridge", "RidgeCV"),
    **_family(elastic_net, "Lasso", "ElasticNet", "LassoCV"),
    **_family(mean, "MeanRegressor"),
}
