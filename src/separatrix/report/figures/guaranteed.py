"""Guaranteed sets: coverage by class and how many labels they hold."""

from __future__ import annotations

import numpy as np

from separatrix.pictures import CategoryCoverageDisplay, SetSizeDisplay
from separatrix.report.figures.gallery import Gallery
from separatrix.report.guaranteed_tables import shown_check
from separatrix.study.result import Study


def guaranteed(study: Study) -> Gallery:
    """Coverage by class, and sizes of sets; intervals have neither."""
    gallery, check = Gallery(), shown_check(study)
    if check is None or not check.sizes:
        return gallery
    if check.by_class:
        scores = check.by_class.values()
        gallery.add(
            lambda: CategoryCoverageDisplay(
                tuple(check.by_class),
                np.array([score.value for score in scores]),
                np.array([[score.low, score.high] for score in scores]),
                check.level,
            )
        )
    gallery.add(lambda: SetSizeDisplay(np.array(check.sizes), check.level))
    return gallery
