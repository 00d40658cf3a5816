"""Mardia's test of multivariate normality and Box's M test of equal covariances.

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

from separatrix.arrays import Floats
from separatrix.estimators.inference import p_phrase
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.statistics.moments import EPS, Moments, zero_if_constant


@dataclass(frozen=True, repr=False)
class MardiaTest(Shown):
    """Multivariate skewness and kurtosis with their p values under normality."""

    skewness: float
    skewness_p: float
    kurtosis: float
    kurtosis_p: float
    rank: int

    @property
    def p_value(self) -> float:
        """The smaller p value, doubled for two tests (Bonferroni)."""
        return min(1.0, 2.0 * min(self.skewness_p, self.kurtosis_p))

    def __str__(self) -> str:
        verdict = "normality rejected" if self.p_value < 0.05 else "normality not rejected"
        return (
            f"Skewness {self.skewness:.4g} ({p_phrase(self.skewness_p)}), kurtosis "
            f"{self.kurtosis:.4g} ({p_phrase(self.kurtosis_p)}): {verdict}."
        )


def mardia(x: Floats, sample_weight: Floats | None = None) -> MardiaTest:
    """Mardia's tests of multivariate normality, by skewness and kurtosis.

        b₁ = ‖mean of z⊗z⊗z‖²,     b₂ = mean of ‖z‖⁴        for whitened rows z

    n b₁/6 is asymptotically χ² with d(d+1)(d+2)/6 degrees of freedom and
    (b₂ − d(d+2)) / √(8d(d+2)/n) standard normal. Linearly dependent columns are counted once. The
    skewness takes n·d³ operations and not n².

    Parameters
    ----------
    x : array-like of shape (n_samples, n_features)
        The rows of one class.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights, which count as repeated rows.

    Returns
    -------
    MardiaTest
        Skewness and kurtosis, the p value of each, and ``p_value`` of both together.

    See Also
    --------
    box_m : Whether classes have equal covariances.
    QuadraticDiscriminantAnalysis : The model that assumes normal classes.

    References
    ----------
    K. V. Mardia, "Measures of multivariate skewness and kurtosis with applications", 1970.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> normal = np.random.default_rng(0).standard_normal((500, 2))
    >>> bool(sx.mardia(normal).p_value > 0.05), bool(sx.mardia(normal**2).p_value < 1e-6)
    (True, True)
    """
    x, w = _positive_weight(x, sample_weight)
    n = float(w.sum())
    z = _whiten(x, w)
    d = z.shape[1]
    if d == 0 or n <= d or not _can_reject(n, d):
        raise InputError(
            f"{n:g} rows in {d} independent columns are too few for a test of normality: none "
            "whatever would be rejected.",
            remedy="Give more rows than columns, at least 8, and columns that vary.",
        )
    third = np.zeros((d * d, d))
    fourth = 0.0
    step = max(1, 2_000_000 // (d * d))
    for start in range(0, len(z), step):
        part, weights = z[start : start + step], w[start : start + step]
        pairs = (part[:, :, None] * part[:, None, :]).reshape(len(part), -1)
        third += pairs.T @ (part * weights[:, None])
        fourth += float(weights @ np.einsum("ij,ij->i", part, part) ** 2)
    skewness, kurtosis = float(((third / n) ** 2).sum()), fourth / n
    df = d * (d + 1) * (d + 2) / 6
    expected = d * (d + 2)
    score = (kurtosis - expected) / np.sqrt(8.0 * expected / n)
    return MardiaTest(
        skewness,
        float(special.chdtrc(df, n * skewness / 6.0)),
        kurtosis,
        float(2.0 * special.ndtr(-abs(score))),
        d,
    )


def _can_reject(n: float, d: int) -> bool:
    """Whether any n rows have skewness or kurtosis enough to reject normality at 5 %.

    Whitened rows have ‖z‖² ≤ n − 1 and Σ (zᵢ·zⱼ)² = n²d, so that b₁ and b₂ are at most (n − 1) d,
    and b₂ is at least d². For one column b₁ is at most (n − 2)²/(n − 1), too little below 8 rows.
    """
    expected, deviation = d * (d + 2), np.sqrt(8.0 * d * (d + 2) / n)
    scores = np.array([(n - 1.0) * d - expected, expected - d * d]) / deviation
    smallest = special.chdtrc(d * (d + 1) * (d + 2) / 6, n * (n - 1.0) * d / 6.0)
    return bool(n >= 8 and min(smallest, 2.0 * special.ndtr(-scores.max())) < 0.025)


def _positive_weight(x: Floats, sample_weight: Floats | None) -> tuple[Floats, Floats]:
    """The rows of positive weight and their weights, checked."""
    x = np.asarray(x, dtype=float)
    x = x[:, None] if x.ndim == 1 else x
    if not np.isfinite(x).all():
        raise InputError("The rows contain NaN or infinity.", remedy="Remove these rows first.")
    w = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if w.shape != (len(x),) or not ((w >= 0) & np.isfinite(w)).all():
        raise InputError("sample_weight must hold one finite number, not negative, for each row.")
    return x[w > 0], w[w > 0]


def _whiten(x: Floats, w: Floats) -> Floats:
    """Rows in coordinates in which they have unit covariance (1/Σw)."""
    weight = w / max(float(w.sum()), np.finfo(float).tiny)
    centered = x - x[:1].sum(axis=0)  # from one of the rows first: what is constant becomes zero
    centered -= weight @ centered
    scale = np.sqrt(weight @ centered**2)
    scale = zero_if_constant(scale, np.abs(x).max(axis=0, initial=0.0))
    centered = centered[:, scale > 0.0] / scale[scale > 0.0]
    values, vectors = np.linalg.eigh((centered * weight[:, None]).T @ centered)
    nonzero = values > 10 * len(scale) * EPS * values.max(initial=0.0)
    return np.asarray(centered @ (vectors[:, nonzero] / np.sqrt(values[nonzero])))


@dataclass(frozen=True, repr=False)
class BoxTest(Shown):
    """Box's M with the p values of its χ² and F approximations.

    ``df`` are the degrees of freedom of χ² and the first of F, ``f_df`` the second of F;
    ``p_value`` is that of F.
    """

    m: float
    chi2: float
    df: float
    chi2_p: float
    f: float
    f_df: float
    p_value: float

    def __str__(self) -> str:
        verdict = "rejected" if self.p_value < 0.05 else "not rejected"
        return f"Equal covariances: M = {self.m:.4g}, {p_phrase(self.p_value)}: {verdict}."


def box_m(parts: Sequence[Moments] | Sequence[Floats]) -> BoxTest:
    """Box's M test that classes have equal covariances.

        M = Σ νₖ (ln|C| − ln|Cₖ|),     νₖ = nₖ − 1

    with the unbiased covariances Cₖ and their pooled C. The test is sensitive to tails heavier than
    the normal: run :func:`mardia` first.

    Parameters
    ----------
    parts : sequence of array-like or of Moments
        The rows of each class, or their moments. Every class needs more rows than columns.

    Returns
    -------
    BoxTest
        M, its χ² and F approximations with degrees of freedom, and the p value.

    See Also
    --------
    mardia : Whether a class is normal.
    LinearDiscriminantAnalysis : The model with one covariance.
    QuadraticDiscriminantAnalysis : The model with a covariance for every class.

    References
    ----------
    G. E. P. Box, "A general distribution theory for a class of likelihood criteria", 1949.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.standard_normal((100, 2)), rng.standard_normal((100, 2))
    >>> bool(sx.box_m([a, b]).p_value > 0.05), bool(sx.box_m([a, 3.0 * b]).p_value < 1e-6)
    (True, True)
    """
    moments = [p if isinstance(p, Moments) else _moments(p) for p in parts]
    if len(moments) < 2:
        raise InputError("Covariances of fewer than two classes cannot be compared.")
    d = moments[0].d
    df = np.array([m.weight - 1.0 for m in moments])
    for i, m in enumerate(moments):
        if m.weight <= d:
            raise InputError(
                f"Class number {i} has {m.weight:g} rows for {d} columns.",
                remedy="Give more rows, or fewer columns.",
            )
    pooled = np.sum([m.xx for m in moments], axis=0) / df.sum()
    scaled = [m.xx / v for m, v in zip(moments, df, strict=True)]
    each = np.array([_log_det(covariance, i) for i, covariance in enumerate(scaled)])
    value = float(df.sum() * _log_det(pooled, None) - df @ each)
    return _box_test(value, df, d)


def _box_test(value: float, class_df: Floats, d: int) -> BoxTest:
    """Box's two approximations to the distribution of M."""
    k, total = len(class_df), class_df.sum()
    first = (2 * d**2 + 3 * d - 1) / (6.0 * (d + 1) * (k - 1))
    c1 = float((np.sum(1.0 / class_df) - 1.0 / total) * first)
    squares = np.sum(1.0 / class_df**2) - 1.0 / total**2
    c2 = float(squares * (d - 1) * (d + 2) / (6.0 * (k - 1)))
    df = d * (d + 1) * (k - 1) / 2.0
    chi2 = max(0.0, value * (1.0 - c1))
    df2 = (df + 2.0) / max(abs(c2 - c1**2), np.finfo(float).tiny)
    if c2 > c1**2:
        f = value * (1.0 - c1 - df / df2) / df
    else:
        b = df2 / (1.0 - c1 + 2.0 / df2)
        f = df2 * value / (df * (b - value)) if value < b else np.inf
    p = float(special.fdtrc(df, df2, max(f, 0.0))) if np.isfinite(f) else 0.0
    return BoxTest(value, chi2, df, float(special.chdtrc(df, chi2)), float(f), float(df2), p)


def _moments(rows: Floats) -> Moments:
    from separatrix.rows.rows import ArrayRows

    x = np.asarray(rows, dtype=float)
    return ArrayRows(x[:, None] if x.ndim == 1 else x).reduce(Moments())


def _log_det(covariance: Floats, number: int | None) -> float:
    """ln|C| from the correlation matrix, whose eigenvalues do not depend on units."""
    size = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (
            np.linalg.eigvalsh(covariance / np.outer(size, size)) if (size > 0).all() else size * 0
        )
    if values.min(initial=1.0) <= 10 * len(size) * EPS:
        where = "All classes together" if number is None else f"Class number {number}"
        raise InputError(
            f"{where}: the covariance is singular (constant or linearly dependent columns).",
            remedy="Leave out such columns.",
        )
    return float(np.log(values).sum() + 2.0 * np.log(size).sum())
