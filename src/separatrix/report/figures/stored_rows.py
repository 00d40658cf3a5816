"""Pictures of support vector machines, nearest neighbors and Gaussian processes."""

from __future__ import annotations

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures import (
    Display,
    DistanceConcentrationDisplay,
    DualCoefficientDisplay,
    MarginDisplay,
    NeighborCountDisplay,
    RelevanceDisplay,
    SupportVectorDisplay,
    SVMPathDisplay,
)
from separatrix.pictures.formatting import plural
from separatrix.probability.decision_surface import DecisionFunctionSurface
from separatrix.report.figures.gallery import LEAST_AGREEMENT, MANY, Gallery
from separatrix.report.uncertainty_tables import column_spreads
from separatrix.rows.block import Floats
from separatrix.study.description import NeighborSearch, SVMSearch
from separatrix.study.result import Margins, Study


def stored_rows(study: Study) -> Gallery:
    """Path and margins of an SVM; error by number of neighbors; length scales of a process."""
    gallery, model = Gallery(), study.description
    regression = study.task == "regression"
    search, neighbors, process = model.svm_search, model.neighbors, model.process
    if search is not None:
        gallery.add(lambda: _path(search, regression=regression))
        if study.margins is not None:
            _margins(study.margins, list(study.classes), gallery)
        elif len(study.classes) > 2:
            gallery.missing.append(
                "Margins and dual coefficients are drawn for two classes; here each class has a "
                "binary SVM against the rest."
            )
    if neighbors is not None:
        if neighbors.counts.size:
            gallery.add(lambda: _neighbor_count(neighbors, regression=regression))
        if neighbors.distances.size:
            gallery.add(lambda: _distances(neighbors))
    if process is not None and process.names and not process.shared:
        gallery.add(
            lambda: RelevanceDisplay(
                process.names,
                process.length_scales,
                process.intervals,
                column_spreads(study, process.names),
            )
        )
    return gallery


def _path(found: SVMSearch, *, regression: bool) -> Display:
    """RMSE of regression, log loss of classes."""
    scores = np.sqrt(found.scores) if regression else found.scores
    metric = "rmse" if regression else "log_loss"
    return SVMPathDisplay(found.Cs, found.n_support, scores, found.C, metric, found.n_rows)


def _neighbor_count(found: NeighborSearch, *, regression: bool) -> Display:
    if not regression:
        return NeighborCountDisplay(
            found.counts, found.error, found.standard_error, found.n_neighbors
        )
    root = np.sqrt(found.error)
    # √(e ± s) ≈ √e ± s / 2√e
    error = found.standard_error / (2.0 * np.maximum(root, np.finfo(float).tiny))
    error = np.where(root > 0, error, 0.0)
    return NeighborCountDisplay(found.counts, root, error, found.n_neighbors, "rmse")


def _distances(found: NeighborSearch) -> Display:
    from separatrix.distances.concentration import DistanceConcentration  # compiles

    return DistanceConcentrationDisplay(
        DistanceConcentration(found.distances, found.spread, found.nearest)
    )


def _margins(found: Margins, labels: list[str], gallery: Gallery) -> None:
    """Margins by class, support vectors on a plane, and dual coefficients of a binary SVM."""
    gallery.add(lambda: MarginDisplay.from_predictions(found.y, found.scores, positive=labels[1]))
    gallery.add(lambda: _support_vectors(found, labels))
    gallery.add(lambda: DualCoefficientDisplay(found.alpha, found.bound, found.y, labels))


def _support_vectors(found: Margins, labels: list[str]) -> Display:
    plane = found.plane
    if plane is None:
        raise InputError("Margins are drawn where two numeric columns vary.")
    agreement = _agreement(plane, found.scores)
    if agreement < LEAST_AGREEMENT:
        raise InputError(
            "Margins are not drawn: on a plane, with all else at its mean, the decision function "
            f"has the sign that it has for the whole row in only {100 * agreement:.0f} % of "
            f"{plural(len(found.scores), 'training row')}."
        )
    codes = (found.y == labels[1]).astype(np.intp)
    return SupportVectorDisplay(plane, codes, labels, found.alpha > 0, MANY)


def _agreement(plane: DecisionFunctionSurface, scores: Floats) -> float:
    """The fraction of rows on the same side of the boundary on the plane and by the model."""
    from scipy.interpolate import RegularGridInterpolator

    grid = RegularGridInterpolator((plane.y, plane.x), plane.values)
    on_plane = grid(np.asarray(plane.points, dtype=float)[:, ::-1])
    return float(np.mean((on_plane > 0) == (np.asarray(scores) > 0)))
