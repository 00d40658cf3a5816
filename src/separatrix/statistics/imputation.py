"""Completion by regression, learned: complete the table, take its moments, and again until stable.

    (μ, Σ) of the completed table → fills → (μ, Σ) …      until no mean and no correlation moves

Each round is one pass over the rows. The fixed point is the table in which every gap is what the
regression on the other columns predicts of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from separatrix.messages import warn
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoded import Through
from separatrix.rows.imputation import Imputation, without_missing
from separatrix.rows.schema import Kind, Schema, Term
from separatrix.statistics.moments import Moments

#: The table is stable when nothing moves by more than this many standard deviations.
STABLE = 1e-6
MOST_ROUNDS = 100

#: Directions of the correlation matrix below this are taken for rounding.
FLOOR = 1e-10

Pass = Callable[[Through[Moments]], Through[Moments]]


@dataclass(frozen=True)
class Imputing:
    """A completion as a map of blocks."""

    completion: Imputation

    def apply(self, block: Block) -> Block:
        """The block without gaps."""
        return self.completion.complete(block)


def impute_by_regression(run: Pass, schema: Schema, raw: Moments) -> tuple[Imputation, Moments]:
    """The stable completion and the moments of the completed table.

    ``run`` passes a statistic over the training rows; ``raw`` are their raw moments.
    """
    current = _start(schema, raw)
    if not any(term.missing for term in raw.terms):
        moments = raw
        return replace(current, precision=_precision(moments), last_change=0.0), moments
    moments = run(Through(Moments(), Imputing(current))).inner
    change = np.inf
    for rounds in range(1, MOST_ROUNDS + 1):
        current = replace(
            current,
            centre=moments.x_mean,
            precision=_precision(moments),
            rounds=rounds,
        )
        before, moments = moments, run(Through(Moments(), Imputing(current))).inner
        change = _change(before, moments)
        if change <= STABLE:
            break
    else:
        warn(
            "SEP003",
            f"filling gaps by regression was still moving by {change:.1e} standard deviations "
            f"after {MOST_ROUNDS} rounds.",
        )
    return replace(current, last_change=float(change)), moments


def _start(schema: Schema, raw: Moments) -> Imputation:
    """Means of what is there; columns that are missing in every row take no part."""
    empty = {t.column for t in raw.terms if t.missing and observed_share(raw, t.column) <= 0}
    kept = [term for term in without_missing(raw.terms) if term.column not in empty]
    terms = schema.ordered(kept)
    named = schema.named
    centre = np.array([observed_mean(raw, term, named[term.column].origin) for term in terms])
    classes = tuple(c.name for c in schema.columns if c.kind is not Kind.NUMERIC)
    return Imputation(terms, centre, np.eye(len(terms)), classes)


def observed_share(raw: Moments, column: str) -> float:
    """The share of the weight whose value in this column is known."""
    gap = raw.terms.position.get(Term(column, missing=True))
    share = 1.0 if gap is None else 1.0 - float(raw.mean[gap])
    return share if share > 1e-12 else 0.0


def observed_mean(raw: Moments, term: Term, origin: float) -> float:
    """Mean over the rows whose value is known: origin + (mean − origin) / share.

    A level's indicator is 0 in its gaps, a number is ``origin`` there.
    """
    stand_in = 0.0 if term.level is not None else origin
    mean = float(raw.mean[raw.terms.position[term]])
    return stand_in + (mean - stand_in) / observed_share(raw, term.column)


def _deviations(moments: Moments) -> Floats:
    sd = np.sqrt(np.maximum(np.diag(moments.xx), 0.0) / moments.weight)
    return np.where(sd > 0, sd, 1.0)


def _precision(moments: Moments) -> Floats:
    """Inverse covariance, its weakest directions held at the level of rounding."""
    sd = _deviations(moments)
    values, vectors = np.linalg.eigh(moments.xx / moments.weight / np.outer(sd, sd))
    bounded = np.maximum(values, FLOOR * max(float(values[-1]), 1.0))
    return np.asarray((vectors / bounded) @ vectors.T / np.outer(sd, sd))


def _change(before: Moments, after: Moments) -> float:
    """The largest move of a mean (in deviations) or of a covariance (in correlations)."""
    sd = _deviations(after)
    step = np.abs(after.x_mean - before.x_mean) / sd
    turn = np.abs(after.xx - before.xx) / after.weight / np.outer(sd, sd)
    return float(max(step.max(initial=0.0), turn.max(initial=0.0)))
