"""Draws from the posterior of a logistic regression, with diagnostics and a certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from separatrix.bayes.logistic.diagnostics import ChainDiagnostics, diagnose
from separatrix.geometry.class_scores import softmax
from separatrix.matrices.products import multiply
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Matrix
from separatrix.threads import one_blas_thread, parallel_map, pieces

if TYPE_CHECKING:
    from separatrix.bayes.logistic.bayesian_logistic_regression import BayesianLogisticRegression

#: The largest R̂ of chains that count as mixed.
MAX_RHAT = 1.01
#: Scores computed at a time.
CHUNK = 2_000_000


@dataclass(frozen=True)
class SamplingCertificate(Certificate):
    """Whether chains have mixed: the largest R̂ and the smallest effective sample sizes.

    It holds where R̂ is at most 1.01 for every coefficient; ``worst`` names the one of largest R̂.
    """

    rhat: float = np.nan
    ess_bulk: float = np.nan
    ess_tail: float = np.nan
    worst: str = ""

    @property
    def holds(self) -> bool:
        """Whether all is finite, and R̂ at most 1.01."""
        sizes = np.isfinite([self.rhat, self.ess_bulk, self.ess_tail]).all()
        return bool(sizes and self.rhat <= MAX_RHAT)

    def _sentences(self) -> list[str]:
        found = [f"{self.claim}."]
        if np.isfinite(self.rhat):
            found.append(f"R̂ at most {self.rhat:.4f} ({self.worst}).")
        if np.isfinite([self.ess_bulk, self.ess_tail]).all():
            found.append(
                f"Effective sample sizes at least {self.ess_bulk:.0f} (bulk) and "
                f"{self.ess_tail:.0f} (tails)."
            )
        if not self.holds:
            found.append(
                f"R̂ is not below {MAX_RHAT}: the chains have not mixed, and their means are not to "
                "be used. Draw more samples."
            )
        return found + list(self.notes)


@dataclass(frozen=True)
class LogisticSamples:
    """Draws from the posterior of a logistic regression, chain by chain.

        p(θ | y) ≈ (1/S) Σ δ(θ − θₛ)

    Parameters
    ----------
    coef : ndarray of shape (n_chains, n_samples, n_scores, n_features)
        Coefficients in the units of the table; one score for two classes, else one for each.
    intercept : ndarray of shape (n_chains, n_samples, n_scores)
        Intercepts.
    names : tuple of str
        Names of the columns.
    classes : ndarray
        Labels in order.
    method : str
        "independence", "hamiltonian" or "polya_gamma".
    acceptance : float
        Proportion of proposals that were accepted.
    model : BayesianLogisticRegression
        The model, which encodes new rows.

    See Also
    --------
    BayesianLogisticRegression : Its ``sample`` returns one, and ``compare`` takes one.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = sx.BayesianLogisticRegression(prior_scale=2.0).fit(X, [0, 0, 1, 0, 1, 1])
    >>> samples = model.sample(1000, random_state=0)
    >>> samples.coef.shape
    (4, 1000, 1, 1)
    >>> samples.certificate_.holds
    True
    """

    coef: Floats
    intercept: Floats
    names: tuple[str, ...]
    classes: NDArray[Any]
    method: str
    acceptance: float
    model: BayesianLogisticRegression = field(repr=False)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of all quantities: the intercept and the columns, for each score."""
        scores = self.classes.tolist() if len(self.classes) > 2 else [None]
        one = ("intercept", *self.names)
        return tuple(
            name if score is None else f"{name} [{score}]" for score in scores for name in one
        )

    @cached_property
    def values(self) -> Floats:
        """All quantities (n_chains x n_samples x quantities) in the order of ``labels``."""
        both = np.concatenate([self.intercept[..., None], self.coef], axis=3)
        return both.reshape(*both.shape[:2], -1)

    @cached_property
    def diagnostics(self) -> ChainDiagnostics:
        """R̂ and effective sample sizes in the order of ``labels``; NaN where nothing varies."""
        return diagnose(self.values)

    @cached_property
    def certificate_(self) -> SamplingCertificate:
        """The largest R̂ and the smallest effective sample sizes of all coefficients."""
        chains, draws = self.values.shape[:2]
        name = {"polya_gamma": "Pólya–Gamma"}.get(self.method, self.method)
        claim = f"Posterior draws ({name}): {chains} chains of {draws} draws each"
        varies = np.ptp(self.values, axis=(0, 1)) > 0.0
        found = self.diagnostics
        rhat, bulk, tail = found.rhat[varies], found.ess_bulk[varies], found.ess_tail[varies]
        if not len(rhat):
            return SamplingCertificate(claim, promised=())
        at = int(np.argmax(np.where(np.isnan(rhat), np.inf, rhat)))
        return SamplingCertificate(
            claim,
            promised=(),
            notes=(f"{self.acceptance:.0%} of the proposals were accepted.",)
            if self.method != "polya_gamma"
            else (),
            rhat=float(rhat[at]),
            ess_bulk=float(bulk.min()),
            ess_tail=float(tail.min()),
            worst=np.array(self.labels)[varies][at],
        )

    @property
    def mean(self) -> Floats:
        """Means of all quantities, in the order of ``labels``."""
        return np.asarray(self.values.mean(axis=(0, 1)))

    @property
    def std(self) -> Floats:
        """Standard deviations of all quantities, in the order of ``labels``."""
        return np.asarray(self.values.std(axis=(0, 1), ddof=1))

    def interval(self, level: float = 0.95) -> Floats:
        """Central intervals (quantities x 2) that hold the probability ``level``."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} must be between 0 and 1.")
        ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        return np.asarray(np.quantile(self.values, ends, axis=(0, 1)).T)

    def predict_proba(self, X: Any) -> Floats:
        """Means of the class probabilities of every row over all draws."""
        return self.probabilities(self.model._design(X))

    def probabilities(self, x: Matrix) -> Floats:
        """The same of encoded rows."""
        scores, d = self.coef.shape[2:]
        coef, intercept = self.coef.reshape(-1, d), self.intercept.reshape(-1)
        draws = len(coef) // scores
        out = np.empty((x.shape[0], len(self.classes)))

        def part(rows: slice) -> None:
            values = np.asarray(multiply(x[rows], coef.T) + intercept)
            if scores == 1:
                out[rows, 1] = expit(values).mean(axis=1)
                out[rows, 0] = expit(-values).mean(axis=1)
            else:
                flat = softmax(values.reshape(-1, scores)).reshape(-1, draws, scores)
                out[rows] = flat.mean(axis=1)

        with one_blas_thread():
            parallel_map(part, pieces(len(out), 1, max(64, len(out) * len(coef) // CHUNK)))
        return out

    def to_arviz(self) -> Any:
        """The draws as ArviZ's inference data, with variables ``coef`` and ``intercept``."""
        try:
            import arviz
        except ImportError as missing:
            raise ImportError(
                "to_arviz needs ArviZ, which is not installed: pip install arviz."
            ) from missing
        names = {"coef": self.coef, "intercept": self.intercept}
        dims, coords = {"coef": ["score", "column"], "intercept": ["score"]}, self._coords()
        if hasattr(arviz, "InferenceData"):
            return arviz.from_dict(posterior=names, coords=coords, dims=dims)
        return arviz.from_dict({"posterior": names}, coords=coords, dims=dims)

    def _coords(self) -> dict[str, list[str]]:
        shown = self.classes[1:] if len(self.classes) == 2 else self.classes
        return {"score": [str(label) for label in shown], "column": list(self.names)}

    def __str__(self) -> str:
        return str(self.certificate_)
