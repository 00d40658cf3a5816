"""Winners that are made of training rows: what holds a margin, and who are the neighbours."""

from __future__ import annotations

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures import (
    Display,
    DistanceConcentrationDisplay,
    DualCoefficientDisplay,
    MarginDisplay,
    NeighborCountDisplay,
    SupportVectorDisplay,
    SVMPathDisplay,
)
from separatrix.report.figures.gallery import MANY, Gallery
from separatrix.study.result import Margins, Study


def rows_kept(study: Study) -> Gallery:
    """Pictures of a support vector machine, or of neighbours; none for other winners."""
    gallery, core = Gallery(), study.core
    if hasattr(core, "n_support_path_"):
        gallery.add(lambda: _path(study))
        if study.margins is not None:
            _margins(study.margins, [str(c) for c in core.classes_], gallery)
        elif len(study.classes) > 2:
            gallery.missing.append(
                "Margins and multipliers are drawn for two classes; here each class has a machine "
                "of its own against the rest."
            )
    if hasattr(core, "leave_one_out_"):
        gallery.add(lambda: NeighborCountDisplay.from_estimator(core))
    if isinstance(getattr(core, "points_", None), np.ndarray) and len(core.points_) > 2:
        gallery.add(
            lambda: DistanceConcentrationDisplay.from_rows(core.points_, metric=core.metric_)
        )
    return gallery


def _path(study: Study) -> Display:
    """Numbers as the root of their squared error, classes by log loss."""
    core, numbers = study.core, study.task == "regression"
    scores = np.sqrt(core.score_path_) if numbers else core.score_path_
    metric = "rmse" if numbers else "log_loss"
    return SVMPathDisplay(
        core.Cs_, core.n_support_path_, scores, float(core.C_), metric, core.n_search_rows_
    )


def _margins(found: Margins, labels: list[str], gallery: Gallery) -> None:
    """The three pictures of a machine of two classes."""
    gallery.add(lambda: MarginDisplay.from_predictions(found.y, found.scores, positive=labels[1]))
    gallery.add(lambda: _support(found, labels))
    gallery.add(lambda: DualCoefficientDisplay(found.alpha, found.bound, found.y, labels))


def _support(found: Margins, labels: list[str]) -> Display:
    seen = found.sight
    if seen is None:
        raise InputError("Margins are drawn where two columns of numbers vary.")
    codes = (found.y == labels[1]).astype(np.intp)
    at = (seen.across, seen.up, seen.score)
    held = found.alpha > 0
    return SupportVectorDisplay(
        seen.dots, codes, labels, *at, held, seen.names, seen.projected, MANY
    )
