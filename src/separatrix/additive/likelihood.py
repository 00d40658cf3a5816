"""Additive models of classes and counts: penalized likelihood, and the evidence of its penalties.

    min over a, b of Σ w ℓ(y, f) + ½ Σ_j λ_j ‖b_j‖²,      f = a + b·z

ℓ is convex in the scores f (:mod:`separatrix.optimize.likelihoods`); near any b it is the squared
error of a working response with weights ℓ″. Penalties and coefficients are found in turns: a few
steps uphill on the evidence of the working response (:mod:`separatrix.additive.evidence`), then a
Newton step with these penalties, until neither moves. So the penalties maximize Laplace's
approximation of the evidence, the weights taken as they are at the solution; the coefficients are
the minimum given the penalties, to rounding.

Several scores for each row are coupled by ℓ. The evidence of each is that of its own working
response; the Newton step of all is found by conjugate gradients, preconditioned by those of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from separatrix.additive.base import AdditiveModel, describe_terms
from separatrix.additive.basis import Basis, NaturalCoordinates, SplineDesign
from separatrix.additive.evidence import (
    EvidenceSearch,
    Mask,
    RidgeFit,
    RidgeMoments,
    certify_penalized,
    monotone_constraints,
    natural_coordinates,
    solve_constrained,
    with_slopes,
)
from separatrix.arrays import Floats
from separatrix.messages import warn
from separatrix.optimize.convex import Certificate
from separatrix.optimize.likelihoods import ScoreLikelihood
from separatrix.optimize.newton import backtrack

#: Newton steps with penalties that are fixed, and iterations of conjugate gradients, at most.
STEPS, ITERATIONS = 50, 200


@dataclass(frozen=True)
class _ScorePoint:
    """Coefficients (coordinates x outputs), constants, scores, and the objective there."""

    coef: Floats
    constants: Floats
    scores: Floats
    value: float


@dataclass(frozen=True)
class _Response:
    """The working response of one output: its moments, weighted means and total weight."""

    moments: RidgeMoments
    center: Floats
    total: float


@dataclass(frozen=True)
class LikelihoodFit:
    """Coefficients and constants at the minimum, with the penalties and curvatures there.

    ``fits`` and ``grams`` are those of the outputs; ``noise`` is the dispersion φ; ``gain`` is
    that of the log evidence in the last round.
    """

    design: SplineDesign
    coordinates: NaturalCoordinates
    coef: Floats
    constants: Floats
    means: Floats
    value: float
    fits: list[RidgeFit]
    grams: list[Floats]
    noise: float
    multipliers: Floats
    steps: int
    gain: float

    @property
    def log_evidence(self) -> float:
        """By Laplace's approximation, up to a constant of the design."""
        return sum(fit.evidence + 0.5 * fit.deviance for fit in self.fits) - self.value

    @property
    def freedom(self) -> float:
        """Effective degrees of freedom, of constants too."""
        return float(sum(1.0 + fit.freedom for fit in self.fits))


class PenalizedLikelihood:
    """Curves and surfaces of given bases for one likelihood.

    ``noise`` is the dispersion φ, None where it is to be learned; ``signs`` are those of monotone
    columns, of one output.
    """

    def __init__(
        self,
        design: SplineDesign,
        likelihood: ScoreLikelihood,
        w: Floats,
        *,
        noise: float | None,
        freedom: float,
        signs: Mapping[str, int],
    ) -> None:
        self.design, self.likelihood = design, likelihood
        self.coordinates = natural_coordinates(design, design.gram(w), w)
        self.noise, self.freedom, self.signs = noise, freedom, signs
        self.constraints = monotone_constraints(self.coordinates, signs)
        self.multipliers = np.zeros(len(self.constraints))

    def fit(self, scores: Floats, max_iter: int) -> LikelihoodFit:
        """The fit, from constants alone; ``scores`` are zeros (n x outputs)."""
        constants = self.likelihood.best_offsets(scores)
        scores = scores + constants
        self.size = self.likelihood.loss(scores)
        start = np.zeros((int(self.coordinates.starts[-1]), scores.shape[1]))
        point = _ScorePoint(start, constants, scores, self.size)
        fits: list[RidgeFit] = []
        gain, rounds = np.inf, 0
        # The search for penalties ends at a gain of log evidence, a likelihood ratio, that says
        # nothing.
        while gain > 1e-4 and rounds < max_iter:
            responses = self._responses(point)
            before: Sequence[RidgeFit | None] = fits or [None] * len(constants)
            improved = [
                # blocks that were left out do not come back after so many rounds
                self._improve(response, fit, closed=rounds >= 20)
                for response, fit in zip(responses, before, strict=True)
            ]
            fits, gain = [fit for fit, _ in improved], sum(gain for _, gain in improved)
            point, _ = self._step(point, responses, fits)
            rounds += 1
        for _ in range(STEPS):
            responses = self._responses(point)
            fits = [
                self._search(response).at(np.log(fit.penalty), fit)
                for response, fit in zip(responses, fits, strict=True)
            ]
            point, decrement = self._step(point, responses, fits)
            if decrement <= 1e-18 * self.size:  # nothing is left to gain
                break
        self.solution = self._describe(point, fits, rounds, gain)
        return self.solution

    def _describe(
        self, point: _ScorePoint, fits: list[RidgeFit], rounds: int, gain: float
    ) -> LikelihoodFit:
        constants, scores = point.constants, point.scores
        if len(constants) > 1:  # a common shift of all scores changes nothing
            constants, scores = constants - constants.mean(), scores - constants.mean()
        shift = self.likelihood.best_offsets(scores)
        responses = self._responses(replace(point, scores=scores + shift))
        noise = self.noise
        if noise is None:
            noise = fits[0].deviance / max(self.freedom, 1.0)
        return LikelihoodFit(
            self.design, self.coordinates, point.coef, constants + shift,
            self.likelihood.means(scores + shift), point.value, fits,
            [response.moments.gram for response in responses], noise, self.multipliers,
            max(rounds, 1), gain,
        )  # fmt: skip

    # -- penalties ---------------------------------------------------------------------------------

    def _responses(self, point: _ScorePoint) -> list[_Response]:
        """Moments of the working response of every output, at the scores of a point."""
        likelihood, z = self.likelihood, self.coordinates
        means = likelihood.means(point.scores)
        pull, weight = likelihood.pull(means), likelihood.own_curvature(means)
        # Least weight of a row in a working response, relative to its cost.
        weight = np.maximum(weight, 1e-10 * likelihood.cost[:, None])
        gradient, sums = z.cross(self.design.cross(pull)), z.cross(self.design.cross(weight))
        found = []
        for k in range(weight.shape[1]):
            w, total, b = weight[:, k], float(weight[:, k].sum()), point.coef[:, k]
            center = sums[:, k] / total
            gram = z.gram(self.design.gram(w)) - total * np.outer(center, center)
            slope = gradient[:, k] - center * pull[:, k].sum()
            image = gram @ b
            spread = float((pull[:, k] ** 2 / w).sum() - pull[:, k].sum() ** 2 / total)
            square = max(spread, 0.0) + float(b @ (image + 2.0 * slope))
            moments = RidgeMoments(gram, image + slope, square, self.freedom, self.noise)
            found.append(_Response(moments, center, total))
        return found

    def _search(self, response: _Response, *, closed: bool = False) -> EvidenceSearch:
        sizes = self.coordinates.sizes
        # Prior standard deviation of a term, in log odds or log counts, at most. Two of them lead
        # from a probability of one half to 0.993, as few columns do; where classes are separable,
        # the evidence itself has no such limit.
        widest = 2.5
        return EvidenceSearch(response.moments, sizes, least=widest**-2, closed=closed)

    def _improve(
        self, response: _Response, before: RidgeFit | None, *, closed: bool
    ) -> tuple[RidgeFit, float]:
        """Penalties after a few steps uphill on the evidence, and what they gain."""
        search = self._search(response, closed=closed)
        rho = None if before is None else np.log(before.penalty)
        fit = search.maximize(rho, 2)  # the next working response replaces this one
        gain = np.inf if rho is None and len(fit.coef) else 0.0
        if rho is not None:
            gain = fit.evidence - search.evidence(rho)
        if self.signs:
            fit = with_slopes(fit, self.coordinates, self.signs, search)
        return fit, gain

    # -- coefficients ------------------------------------------------------------------------------

    def _step(
        self, point: _ScorePoint, responses: Sequence[_Response], fits: Sequence[RidgeFit]
    ) -> tuple[_ScorePoint, float]:
        """A Newton step with given penalties, and the decrement it promised."""
        penalty = np.column_stack([fit.penalty_of_coordinates for fit in fits])
        inside = np.isfinite(penalty)
        penalty[~inside] = 0.0
        point = self._without(point, inside, penalty)
        pull = self.likelihood.pull(self.likelihood.means(point.scores))
        slope = np.where(inside, self._cross(pull) - penalty * point.coef, 0.0)
        slopes = np.vstack([slope, pull.sum(axis=0)])
        if len(self.constraints):
            direction = self._solve_constrained(point, slopes, responses[0], fits[0])
        elif len(fits) == 1:
            direction = _solve_each(slopes, responses, fits)
        else:
            direction = self._solve_coupled(point, slopes, responses, fits, penalty, inside)
        along = self._times(direction)
        decrement = float(np.vdot(slopes, direction))

        def at(t: float) -> _ScorePoint:
            coef, scores = point.coef + t * direction[:-1], point.scores + t * along
            value = self.likelihood.loss(scores) + 0.5 * float(np.vdot(penalty * coef, coef))
            return _ScorePoint(coef, point.constants + t * direction[-1], scores, value)

        # Decrement, relative to the loss without terms, below which a full step needs no search.
        if decrement <= 1e-8 * self.size:
            return at(1.0), decrement
        found = backtrack(at, point.value, -decrement, most=30)
        return (point, 0.0) if found is None else (found[1], decrement)

    def _without(self, point: _ScorePoint, inside: Mask, penalty: Floats) -> _ScorePoint:
        """The point with the blocks set to zero that were left out since, and its objective."""
        coef, scores, constants = point.coef, point.scores, point.constants
        if coef[~inside].any():
            coef = np.where(inside, coef, 0.0)
            scores = self._times(np.vstack([coef, constants]))
            shift = self.likelihood.best_offsets(scores)
            constants, scores = constants + shift, scores + shift
        value = self.likelihood.loss(scores) + 0.5 * float(np.vdot(penalty * coef, coef))
        return _ScorePoint(coef, constants, scores, value)

    def _cross(self, r: Floats) -> Floats:
        return self.coordinates.cross(self.design.cross(r))

    def _times(self, b: Floats) -> Floats:
        """Scores of coefficients with constants below them."""
        return np.asarray(self.design.times(self.coordinates.coefficients(b[:-1])) + b[-1])

    def _solve_constrained(
        self, point: _ScorePoint, slopes: Floats, response: _Response, fit: RidgeFit
    ) -> Floats:
        """The step to the minimum of the quadratic with monotone curves."""
        at = fit.active
        a = response.moments.gram[np.ix_(at, at)] + np.diag(fit.penalty_of_coordinates[at])
        b = point.coef[at, 0]
        slope = slopes[at, 0] - response.center[at] * slopes[-1, 0]
        new, self.multipliers = solve_constrained(a, a @ b + slope, self.constraints[:, at])
        direction = np.zeros((len(slopes), 1))
        direction[at, 0] = new - b
        direction[-1] = slopes[-1] / response.total - response.center @ direction[:-1, 0]
        return direction

    def _solve_coupled(
        self,
        point: _ScorePoint,
        slopes: Floats,
        responses: Sequence[_Response],
        fits: Sequence[RidgeFit],
        penalty: Floats,
        inside: Mask,
    ) -> Floats:
        """The Newton step of all outputs, by conjugate gradients."""
        means = self.likelihood.means(point.scores)

        def image(b: Floats) -> Floats:
            bend = self.likelihood.curvature(means, self._times(b))
            above = np.where(inside, self._cross(bend) + penalty * b[:-1], 0.0)
            return np.vstack([above, bend.sum(axis=0)])

        def near(slopes: Floats) -> Floats:
            return _without_shift(_solve_each(slopes, responses, fits))

        x, rest = np.zeros_like(slopes), _without_shift(slopes)
        d = z = near(rest)
        rho = first = float(np.vdot(z, rest))
        accuracy = min(0.1, np.sqrt(max(first, 0.0) / self.size))  # as good as the quadratic is
        for _ in range(ITERATIONS):
            q = image(d)
            bend = float(np.vdot(d, q))
            if not bend > 0.0 or not rho > 0.0:
                break
            t = rho / bend
            x, rest = x + t * d, rest - t * q
            z = near(rest)
            rho, before = float(np.vdot(z, rest)), rho
            if rho <= accuracy**2 * first:
                break
            d = z + rho / before * d
        return x


def _solve_each(slopes: Floats, responses: Sequence[_Response], fits: Sequence[RidgeFit]) -> Floats:
    """The Newton step of every output by itself."""
    steps = np.zeros_like(slopes)
    for k, (response, fit) in enumerate(zip(responses, fits, strict=True)):
        at = fit.active
        centered = slopes[at, k] - response.center[at] * slopes[-1, k]
        steps[at, k] = fit.covariance @ centered
        steps[-1, k] = slopes[-1, k] / response.total - response.center[at] @ steps[at, k]
    return steps


def _without_shift(b: Floats) -> Floats:
    """Without a common shift of all constants, which changes no probability."""
    b = b.copy()
    b[-1] -= b[-1].mean()
    return b


class AdditiveLikelihoodModel(AdditiveModel):
    """An additive model of scores whose likelihood is maximized."""

    _claim: str

    def _maximize(
        self, x: Floats, likelihood: ScoreLikelihood, w: Floats, *, noise: float | None
    ) -> LikelihoodFit:
        """Fit terms to rows of a design; sets all attributes but those of one likelihood."""
        self.n_design_columns_ = x.shape[1]
        total, n = float(w.sum()), len(w)
        freedom = max(total - 1.0, total * (n - 1) / n)
        nothing = np.zeros((n, likelihood.outputs))

        def solve(bases: Sequence[Basis]) -> tuple[PenalizedLikelihood, Floats, Floats]:
            problem = PenalizedLikelihood(
                SplineDesign(bases, x), likelihood, w,
                noise=noise, freedom=freedom, signs=self._signs(self.encoding_, bases),
            )  # fmt: skip
            fit = problem.fit(nothing, int(self.max_iter))
            dispersion = fit.noise or 1.0
            pull = likelihood.pull(fit.means)
            return problem, pull / dispersion**0.5, likelihood.own_curvature(fit.means)

        problem = self._with_pairs(x, solve)
        fit = problem.solution
        self.terms_ = describe_terms(
            fit.coordinates, fit.fits, fit.coef, fit.grams, fit.noise, x,
            None if noise else max(freedom + 1.0 - fit.freedom, 1.0),
        )  # fmt: skip
        self.effective_degrees_of_freedom_ = fit.freedom
        self.n_iter_ = fit.steps
        self.certificate_ = certify_likelihood(fit, likelihood, problem.constraints, self._claim)
        if fit.gain > 1e-2:  # below that, a search that has no further to go counts as ended
            warn(
                "SEP003",
                f"the log evidence of the penalties still rose by {fit.gain:.2g} in the last of "
                f"{fit.steps} rounds. Raise max_iter.",
            )
        return fit

    def _summary_lines(self) -> tuple[str, ...]:
        return (
            f"{self.effective_degrees_of_freedom_:.1f} effective degrees of freedom",
            str(self.certificate_),
        )


def certify_likelihood(
    fit: LikelihoodFit, likelihood: ScoreLikelihood, constraints: Floats, claim: str
) -> Certificate:
    """The gap of the coefficients given the penalties, from the rows."""
    scores = fit.design.times(fit.coordinates.coefficients(fit.coef)) + fit.constants
    means = likelihood.means(scores)
    pull = likelihood.pull(means)
    slope = fit.coordinates.cross(fit.design.cross(pull))
    penalty = np.column_stack([one.penalty_of_coordinates for one in fit.fits])
    inside = np.isfinite(penalty)
    loss = likelihood.loss(scores)
    nothing = np.zeros_like(scores)
    alone = likelihood.loss(nothing + likelihood.best_offsets(nothing))
    # |Σ z u| ≤ √(Σ w z²) √(Σ u²/w): the size of the sums that are zero at the minimum
    size = float(np.sqrt((pull**2 / likelihood.cost[:, None]).sum()))
    norms = np.column_stack([np.sqrt(np.maximum(np.diag(g), 0.0)) for g in fit.grams])
    norms = np.maximum(norms, np.sqrt(float(likelihood.cost.sum())))
    rows = np.zeros((len(constraints), int(inside.sum())))
    if len(constraints):
        rows = constraints[:, inside[:, 0]]
    return certify_penalized(
        loss, -slope[inside], fit.coef[inside], penalty[inside], pull.sum(axis=0),
        claim=claim, sizes=size * norms[inside],
        balance=size * np.sqrt(float(likelihood.cost.sum())),
        constraints=rows, multipliers=fit.multipliers, scale=alone,
        scale_of="the loss of constants alone",
    )  # fmt: skip
