"""Tables and sentences on predictive distributions, and on what a Bayesian model learned."""

from __future__ import annotations

import math

import numpy as np

from separatrix.pictures.bayes.inputs import level_text
from separatrix.pictures.formatting import number, plural, score_text
from separatrix.report.tables import Cell, Line, Table, figure
from separatrix.rows.block import Floats
from separatrix.study.result import Study


def interval_table(study: Study) -> Table | None:
    """Coverage and mean width of intervals on the test set, by level."""
    found = study.uncertainty
    if found is None:
        return None
    lines = []
    for score in found.test:
        inside = score.coverage
        ends = f"{100 * inside.low:.1f} to {100 * inside.high:.1f} %"
        lines.append(
            Line(
                level_text(score.level),
                (
                    figure(inside.value, f"{100 * inside.value:.1f} %"),
                    Cell(ends, right=True),
                    figure(score.width),
                ),
            )
        )
    heads = ("Level", "Targets within", "95 % interval of that", "Mean width")
    return Table(tuple((head, head != "Level") for head in heads), tuple(lines))


def uncertainty_text(study: Study) -> str:
    """What the pictures of predictive distributions are made of."""
    found = study.uncertainty
    if found is None:
        return ""
    loss = found.log_loss
    text = (
        "Every prediction is a distribution of the target. On the test set the negative log "
        f"predictive density is {score_text(loss.value, 'nlpd')} per row "
        f"({score_text(loss.low, 'nlpd')} to {score_text(loss.high, 'nlpd')}); lower is better."
    )
    if found.check is None:
        return text
    rows = plural(len(found.check.pit), "training row")
    return (
        f"{text} Coverage, F(y) and standardized residuals below are of {rows}, each predicted by "
        "a model that was fitted without it."
    )


def evidence_text(study: Study) -> str:
    """Log evidence and noise of a Bayesian model, in a sentence."""
    found = study.description.evidence
    if found is None:
        return ""
    text = f"Log evidence {number(found.log_evidence, 6)}"
    if found.noise is not None and math.isfinite(found.noise):
        text += f", standard deviation of the noise {number(found.noise, 4)}"
    if found.settings:
        text += f"; {found.settings}"
    return f"{text}."


def process_text(study: Study) -> str:
    """The kernel of a Gaussian process and how its length scales are meant."""
    found = study.description.process
    if found is None:
        return ""
    text = f"A Gaussian process with kernel {found.kernel}. {evidence_text(study)}"
    if found.n_inducing is not None:
        text += f" It is carried by {plural(found.n_inducing, 'inducing point')}."
    if found.shared:
        ratios = found.length_scales / column_spreads(study, found.names)
        ratio = float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else math.nan
        if not math.isfinite(ratio):
            return text
        size = f"{number(ratio, 3)} standard deviations"
        return f"{text} Every column has the same length scale, {size}."
    if not found.names:
        return text
    return (
        f"{text} Along a column the function bends within one length scale; where that is many "
        "times the spread of the column, it is nearly linear along it, or constant. A length scale "
        "marked “open” is one that the rows do not determine."
    )


def column_spreads(study: Study, names: tuple[str, ...]) -> Floats:
    """Standard deviations of columns of the design in the training rows; NaN where not stored."""
    part = study.training
    known: dict[str, float] = {}
    if part is not None and part.scale is not None:
        known = dict(zip(part.names, part.scale.tolist(), strict=True))
    return np.array([known.get(name, math.nan) for name in names])


def length_scale_table(study: Study) -> Table | None:
    """Length scales in the units of the columns and in standard deviations, with intervals."""
    found = study.description.process
    if found is None or not found.names or found.shared:
        return None
    spreads = column_spreads(study, found.names)
    lines = []
    for j, name in enumerate(found.names):
        value, spread = float(found.length_scales[j]), float(spreads[j])
        low, high = (float(end) for end in found.intervals[j])
        known = math.isfinite(low) and math.isfinite(high)
        lines.append(
            Line(
                name,
                (
                    figure(value),
                    Cell(f"{number(low)} to {number(high)}" if known else "open", right=True),
                    figure(value / spread if spread > 0 else math.nan),
                ),
            )
        )
    heads = ("Column", "Length scale", "95 % interval", "In standard deviations")
    return Table(tuple((head, head != "Column") for head in heads), tuple(lines))
