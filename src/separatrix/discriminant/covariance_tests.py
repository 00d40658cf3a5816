"""Whether classes are Gaussian, and whether they share one covariance: two classical tests.

Mardia (for rows z whitened by their own covariance, n of them):

    b₁ = Σ over i, j of (zᵢ·zⱼ)³ / n²        n b₁/6 ~ χ² with d(d+1)(d+2)/6 degrees of freedom
    b₂ = Σ over i of ‖zᵢ‖⁴ / n               (b₂ − d(d+2)) / √(8 d(d+2)/n) ~ N(0, 1)

Box (for K classes with unbiased covariances Cₖ and pooled C, νₖ = nₖ − 1):

    M = Σ νₖ (ln|C| − ln|Cₖ|)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments


@dataclass(frozen=True)
class MardiaTest:
    """Skewness and kurtosis of a cloud of rows, each with the p value of a normal one."""

    skewness: float
    skewness_p: float
    kurtosis: float
    kurtosis_p: float
    rank: int

    @property
    def p_value(self) -> float:
        """The smaller p value, doubled for having looked twice."""
        return min(1.0, 2.0 * min(self.skewness_p, self.kurtosis_p))

    def __str__(self) -> str:
        verdict = "not normal" if self.p_value < 0.05 else "no sign against normality"
        return (
            f"Skewness {self.skewness:.4g} (p = {self.skewness_p:.3g}), kurtosis "
            f"{self.kurtosis:.4g} (p = {self.kurtosis_p:.3g}): {verdict}."
        )


def mardia(x: Floats, sample_weight: Floats | None = None) -> MardiaTest:
    """Mardia's tests of multivariate normality; dependent columns are counted once.

    A weight is that many equal rows, as everywhere. The skewness is the squared size of the
    third-moment tensor, Σ (mean zₐz_bz_c)², which takes n·d³ steps and not n².
    """
    x = np.asarray(x, dtype=float)
    x = x[:, None] if x.ndim == 1 else x
    if not np.isfinite(x).all():
        raise InputError("The rows contain NaN or infinity.", remedy="Remove these rows first.")
    w = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if w.shape != (len(x),) or not ((w >= 0) & np.isfinite(w)).all():
        raise InputError("sample_weight must hold one finite number, not negative, for each row.")
    x, w = x[w > 0], w[w > 0]
    n = float(w.sum())
    z = _whitened(x, w)
    d = z.shape[1]
    if n < 3 or d == 0 or n <= d:
        raise InputError(
            f"{n:g} rows in {d} independent columns are too few for a test of normality.",
            remedy="Give more rows than columns, and columns that vary.",
        )
    third = np.zeros((d * d, d))
    fourth = 0.0
    step = max(1, 2_000_000 // (d * d))
    for start in range(0, len(z), step):
        part, own = z[start : start + step], w[start : start + step]
        pairs = (part[:, :, None] * part[:, None, :]).reshape(len(part), -1)
        third += pairs.T @ (part * own[:, None])
        fourth += float(own @ np.einsum("ij,ij->i", part, part) ** 2)
    skewness, kurtosis = float(((third / n) ** 2).sum()), fourth / n
    freedom = d * (d + 1) * (d + 2) / 6
    expected = d * (d + 2)
    score = (kurtosis - expected) / np.sqrt(8.0 * expected / n)
    return MardiaTest(
        skewness,
        float(special.chdtrc(freedom, n * skewness / 6.0)),
        kurtosis,
        float(2.0 * special.ndtr(-abs(score))),
        d,
    )


def _whitened(x: Floats, w: Floats) -> Floats:
    """Rows in coordinates in which they have unit covariance (1/Σw)."""
    share = w / max(float(w.sum()), np.finfo(float).tiny)
    centred = x - x[:1].sum(axis=0)  # from one of the rows first: what is constant becomes zero
    centred -= share @ centred
    size = np.sqrt(share @ centred**2)
    varies = size > 4 * np.finfo(float).eps * np.abs(x).max(axis=0, initial=0.0)
    centred = centred[:, varies] / size[varies]
    values, vectors = np.linalg.eigh((centred * share[:, None]).T @ centred)
    kept = values > 10 * len(size) * np.finfo(float).eps * values.max(initial=0.0)
    return np.asarray(centred @ (vectors[:, kept] / np.sqrt(values[kept])))


@dataclass(frozen=True)
class BoxTest:
    """Box's M with the p values of its χ² and F approximations."""

    m: float
    chi2: float
    freedom: float
    chi2_p: float
    f: float
    f_freedom: float
    p_value: float

    def __str__(self) -> str:
        verdict = "they differ" if self.p_value < 0.05 else "no sign that they differ"
        return f"Equal covariances: M = {self.m:.4g}, p = {self.p_value:.3g}: {verdict}."


def box_m(parts: Sequence[Moments] | Sequence[Floats]) -> BoxTest:
    """Box's test that classes share one covariance, from their rows or their moments alone.

    Every class needs more rows than there are columns. The test is sensitive to tails heavier than
    the normal: ask :func:`mardia` first.
    """
    moments = [p if isinstance(p, Moments) else _moments(p) for p in parts]
    if len(moments) < 2:
        raise InputError("Covariances of fewer than two classes cannot be compared.")
    d = moments[0].d
    freedom = np.array([m.weight - 1.0 for m in moments])
    for i, m in enumerate(moments):
        if m.weight <= d:
            raise InputError(
                f"Class number {i} has {m.weight:g} rows for {d} columns.",
                remedy="Give more rows, or fewer columns.",
            )
    pooled = np.sum([m.xx for m in moments], axis=0) / freedom.sum()
    scaled = [m.xx / v for m, v in zip(moments, freedom, strict=True)]
    each = np.array([_log_det(covariance, i) for i, covariance in enumerate(scaled)])
    value = float(freedom.sum() * _log_det(pooled, None) - freedom @ each)
    return _judged(value, freedom, d)


def _judged(value: float, freedom: Floats, d: int) -> BoxTest:
    """Box's two approximations to the distribution of M."""
    k, total = len(freedom), freedom.sum()
    first = (2 * d**2 + 3 * d - 1) / (6.0 * (d + 1) * (k - 1))
    c1 = float((np.sum(1.0 / freedom) - 1.0 / total) * first)
    spread = np.sum(1.0 / freedom**2) - 1.0 / total**2
    c2 = float(spread * (d - 1) * (d + 2) / (6.0 * (k - 1)))
    df = d * (d + 1) * (k - 1) / 2.0
    chi2 = max(0.0, value * (1.0 - c1))
    above = c2 > c1**2
    df2 = (df + 2.0) / max(abs(c2 - c1**2), np.finfo(float).tiny)
    if above:
        f = value * (1.0 - c1 - df / df2) / df
    else:
        b = df2 / (1.0 - c1 + 2.0 / df2)
        f = df2 * value / (df * (b - value)) if value < b else np.inf
    p = float(special.fdtrc(df, df2, max(f, 0.0))) if np.isfinite(f) else 0.0
    return BoxTest(value, chi2, df, float(special.chdtrc(df, chi2)), float(f), float(df2), p)


def _moments(rows: Floats) -> Moments:
    from separatrix.rows.arrays import ArrayRows

    x = np.asarray(rows, dtype=float)
    return ArrayRows(x[:, None] if x.ndim == 1 else x).reduce(Moments())


def _log_det(covariance: Floats, number: int | None) -> float:
    """ln|C| by way of the correlations, whose size does not depend on units."""
    size = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (
            np.linalg.eigvalsh(covariance / np.outer(size, size)) if (size > 0).all() else size * 0
        )
    if values.min(initial=1.0) <= 10 * len(size) * np.finfo(float).eps:
        where = "All classes together" if number is None else f"Class number {number}"
        raise InputError(
            f"{where}: columns that do not vary, or depend on each other, have no determinant.",
            remedy="Leave out such columns.",
        )
    return float(np.log(values).sum() + 2.0 * np.log(size).sum())
