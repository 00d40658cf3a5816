"""The pictures of each part of the page, and the reasons of those that are missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix import pictures
from separatrix.arrays import Floats, NDArray
from separatrix.estimators.inference import Inference
from separatrix.formatting import plural, score_info
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.probability.decision_surface import DecisionFunctionSurface
from separatrix.probability.roc import RocCurve, roc_curve
from separatrix.report.tables import column_spreads, fold_interval, shown_check
from separatrix.rows.schema import unit_weights
from separatrix.study import findings, result
from separatrix.study.candidates import display_name
from separatrix.study.cluster.result import ClusterStudy, standardized_levels
from separatrix.study.description import NeighborSearch, RegularizationPath, SVMSearch
from separatrix.study.summary import best_first

__all__ = [
    "Gallery",
    "classification",
    "coefficients",
    "columns",
    "comparison",
    "dependence",
    "draw_conformal",
    "importance",
    "learning",
    "probabilities",
    "regression",
    "stored_rows",
    "test_scores",
    "uncertainty",
]


# -------------------------------------------------------------------------------------------------
# Pictures for the page, and the reasons of those that are missing.


#: Points in one picture of the page before a density is drawn: a page has several.
MANY = 2_000
#: A plane is drawn if it shows for so many of the rows what the model predicts for them.
LEAST_AGREEMENT = 0.8


@dataclass
class Gallery:
    """Pictures that could be drawn, and the reasons of those that could not."""

    pictures: list[Display] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def add(self, make: Callable[[], Display]) -> None:
        """Add the picture, or the reason for its absence."""
        try:
            self.pictures.append(make())
        except InputError as refusal:
            self.missing.append(str(refusal))


def lift_headline(galleries: dict[str, Gallery]) -> None:
    """Take what is seen first out of its part of the page: how near, how often right."""
    first = galleries["headline"] = Gallery()
    seen = (
        pictures.PredictedActualDisplay,
        pictures.ConfusionMatrixDisplay,
        pictures.RocDisplay,
        pictures.OneVsRestRocDisplay,
    )
    for name in ("test", "diagnostics"):
        here = galleries[name].pictures
        first.pictures += [picture for picture in here if isinstance(picture, seen)]
        galleries[name].pictures = [picture for picture in here if not isinstance(picture, seen)]


def row_labels(rows: Any, names: Mapping[int, str]) -> list[str] | None:
    """The names of rows, or their numbers as people write them."""
    if rows is None:
        return None
    return [
        names.get(r) or (f"{r:g}" if isinstance(r, float | np.floating) else str(r)) for r in rows
    ]


# -------------------------------------------------------------------------------------------------
# Cross-validation, test scores and learning curve.


def comparison(study: result.Study) -> Gallery:
    """The folds of every candidate."""
    gallery = Gallery()
    entries = [e for e in best_first(study.leaderboard) if len(e.folds)]
    if entries:
        names = [display_name(e.name) for e in entries]
        scores = [np.asarray(e.folds, dtype=float) for e in entries]
        winner = display_name(study.winner)
        metric, pooled = entries[0].metric, [e.mean for e in entries]
        gallery.pictures.append(
            pictures.CrossValidationDisplay(names, scores, metric, winner, pooled)
        )
    return gallery


def test_scores(study: result.Study) -> Gallery:
    """The metric of the leaderboard on each part; predicted against actual test rows."""
    gallery, entry, chosen_score = Gallery(), findings.winner_of(study), findings.chosen_by(study)
    if entry is None or chosen_score is None:
        return gallery
    low, high = fold_interval(entry)
    parts = [
        ("cross-validation", entry.mean, low, high),
        ("test", chosen_score.value, chosen_score.low, chosen_score.high),
    ]
    trained = _training_score(study, entry.metric)
    if math.isfinite(trained):
        parts.insert(0, ("training", trained, math.nan, math.nan))
    base = findings.counterpart(study, chosen_score.metric)
    if base is not None:
        parts.append(("baseline on test", base.value, base.low, base.high))
    names, values, lows, highs = zip(*parts, strict=True)
    muted = ("baseline on test",)
    gallery.pictures.append(
        pictures.GeneralizationGapDisplay(names, values, lows, highs, entry.metric, muted)
    )
    test = study.test_predictions
    if test is not None and study.task == "regression" and not findings.is_baseline(study.winner):
        rows = row_labels(test.rows, study.row_names)
        display = next((d.display for d in study.distributions if d.column == study.target), "")
        gallery.add(
            lambda: pictures.PredictedActualDisplay.from_predictions(
                test.truth, test.predicted, row_labels=rows, max_points=MANY, display=display
            )
        )
    return gallery


def _training_score(study: result.Study, metric: str) -> float:
    """The metric on the training rows; NaN where they are not stored."""
    part, known = study.training, score_info(metric).short
    if part is None or part.predicted is None:
        curve = study.learning_curve
        if curve is None or score_info(curve.metric).short != known:
            return math.nan
        return float(np.mean(curve.train[-1]))
    w = unit_weights(part.w, len(part.y))
    if study.task == "classification":
        right = np.array([str(a) == str(b) for a, b in zip(part.y, part.predicted, strict=True)])
        accuracy = float(np.average(right, weights=w))
        losses = {"Accuracy": accuracy, "Error rate": 1 - accuracy, "Log loss": _log_loss(study, w)}
        return losses.get(known, math.nan)
    y = np.asarray(part.y, dtype=float)
    residual = y - np.asarray(part.predicted, dtype=float)
    square = float(np.average(residual**2, weights=w))
    variance = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    scores = {
        "RMSE": math.sqrt(square),
        "MSE": square,
        "MAE": float(np.average(np.abs(residual), weights=w)),
        "R²": 1 - square / variance if variance > 0 else math.nan,
    }
    return scores.get(known, math.nan)


def _log_loss(study: result.Study, w: Floats) -> float:
    """−mean ln p of the true class, on the training rows."""
    part = study.training
    if part is None or part.probabilities is None:
        return math.nan
    place = {label: k for k, label in enumerate(study.classes)}
    codes = [place[str(label)] for label in part.y]
    of_true_class = np.asarray(part.probabilities, dtype=float)[np.arange(len(codes)), codes]
    return float(-np.average(np.log(np.maximum(of_true_class, np.finfo(float).eps)), weights=w))


def learning(study: result.Study) -> Gallery:
    """Error against the number of training rows."""
    gallery, curve = Gallery(), study.learning_curve
    if curve is not None and len(curve.sizes) > 1:
        sizes = np.asarray(curve.sizes, dtype=float)
        gallery.pictures.append(
            pictures.LearningCurveDisplay(sizes, curve.train, curve.validation, curve.metric)
        )
    return gallery


# -------------------------------------------------------------------------------------------------
# Residuals of a regression.


def regression(study: result.Study) -> Gallery:
    """Residuals of the training rows (of the test rows where those are all there is)."""
    gallery, part, test = Gallery(), study.training, study.test_predictions
    plain = findings.is_baseline(study.winner) or study.description.evidence is not None
    inference = None if plain else study.description.inference
    truth: Any
    if part is not None and part.predicted is not None:
        truth, fitted, rows = part.y, part.predicted, part.rows
    elif test is not None:
        truth, fitted, rows = test.truth, test.predicted, test.rows
    else:
        gallery.missing.append("The rows are not stored, so residuals cannot be drawn.")
        return gallery
    y, fitted = np.asarray(truth, dtype=float), np.asarray(fitted, dtype=float)
    if y.ndim != 1:
        gallery.missing.append("Residuals are drawn for one target only.")
        return gallery
    names = row_labels(rows, study.row_names)
    gallery.pictures += [
        pictures.ResidualDisplay.from_predictions(y, fitted, row_labels=names, max_points=MANY),
        pictures.QuantileQuantileDisplay.from_predictions(y, fitted, row_labels=names),
        pictures.ScaleLocationDisplay.from_predictions(
            y, fitted, row_labels=names, max_points=MANY
        ),
    ]
    gallery.add(lambda: _leverage(inference, part, y - fitted, names, study.n_train))
    return gallery


def _leverage(
    inference: Inference | None,
    part: result.TrainingRows | None,
    residuals: Floats,
    names: list[str] | None,
    total: int,
) -> pictures.LeverageDisplay:
    """From the stored leverages of a least squares model."""
    if inference is None or inference.intervals is None:
        raise InputError("Leverage is defined for least squares, not for this model.")
    if part is None or part.leverage is None or part.leverage.size != residuals.size:
        raise InputError("The training rows are not stored, so leverage cannot be drawn.")
    scaled = residuals if part.w is None else residuals * np.sqrt(part.w)
    # Leverages of all rows add up to the rank; those of a selection do not.
    count = None if residuals.size == total else inference.estimates.size + 1
    return pictures.LeverageDisplay.from_fit(
        scaled, part.leverage, inference.sigma, count, row_labels=names, max_points=MANY
    )


# -------------------------------------------------------------------------------------------------
# Coefficients of a linear model: with intervals, along the penalty, and the error there.


def coefficients(study: result.Study) -> Gallery:
    """Coefficients with intervals, the path over the penalty, and the error along it."""
    gallery, model = Gallery(), study.description
    scale = None if study.training is None else study.training.scale
    inference = model.inference
    if inference is not None and findings.is_baseline(study.winner):
        return gallery
    if inference is not None and inference.estimates.size:
        if scale is None:
            scale = _scale_by_name(study, inference.names)
        finite, values = _finite(study, inference, scale)
        gallery.add(lambda: _coefficients(finite, values, _unit(study)))
    path = model.path or study.ridge_path
    if path is not None and inference is not None:
        gallery.add(lambda: _path(study, path, inference, scale))
    if path is not None and path.errors is not None:
        errors = path.errors
        gallery.add(lambda: pictures.ValidationCurveDisplay(path.alphas, errors, path.alpha))
    return gallery


def _finite(
    study: result.Study, inference: Inference, scale: Floats | None
) -> tuple[Inference, Floats | None]:
    """Without the terms that have no finite estimate."""
    odds = study.description.odds
    if odds is None or not odds.no_finite_estimate:
        return inference, scale
    indices = np.flatnonzero(~np.isin(inference.names, odds.no_finite_estimate))
    arrays = ("estimates", "intervals", "standard_errors", "t_values", "p_values")
    some = {name: v[indices] for name in arrays if (v := getattr(inference, name)) is not None}
    names = tuple(inference.names[j] for j in indices)
    fits = scale is not None and scale.size == len(inference.names)
    return replace(inference, names=names, **some), scale[
        indices
    ] if fits and scale is not None else None


def _unit(study: result.Study) -> str:
    """What a coefficient changes."""
    if study.task != "classification":
        return "prediction"
    return "log odds" if study.description.log_odds else "score"


def _coefficients(
    inference: Inference, scale: Floats | None, unit: str
) -> pictures.CoefficientDisplay:
    """Per standard deviation; in standard errors where that is not known; never in mixed units."""
    if scale is not None and scale.size == inference.estimates.size:
        axis = f"change of the {unit} per standard deviation"
        return pictures.CoefficientDisplay(
            inference.names, inference.estimates, inference.intervals, scale, axis_label=axis
        )
    if inference.standard_errors is None or not (inference.standard_errors > 0).any():
        return pictures.CoefficientDisplay(
            inference.names, inference.estimates, inference.intervals
        )
    errors = np.where(inference.standard_errors > 0, inference.standard_errors, np.inf)
    return pictures.CoefficientDisplay(
        inference.names,
        inference.estimates,
        inference.intervals,
        1 / errors,
        axis_label="standard errors from zero",
    )


def _path(
    study: result.Study, path: RegularizationPath, inference: Inference, scale: Floats | None
) -> pictures.RegularizationPathDisplay:
    """The model's own path; for a model without penalty that of ridge, with the model beside it."""
    scale = _fitting(scale, study, path.coefs.shape[1])
    if path is not study.ridge_path:
        return pictures.RegularizationPathDisplay(
            path.alphas, path.coefs, inference.names, path.alpha, scale=scale
        )
    linear = study.winner == "linear"
    called = (
        pictures.RegularizationPathDisplay.reference_name if linear else display_name(study.winner)
    )
    return pictures.RegularizationPathDisplay(
        path.alphas,
        path.coefs,
        inference.names,
        scale=scale,
        reference=inference.estimates,
        reference_name=called,
    )


def _fitting(scale: Floats | None, study: result.Study, count: int) -> Floats | None:
    """The deviations of the design, if these are they; else those that the model knows."""
    for known in (scale, study.description.scale):
        if known is not None and known.size == count:
            return known
    return None


def _scale_by_name(study: result.Study, names: tuple[str, ...]) -> Floats | None:
    """Standard deviations from the profile of the table, if every term is a column or a level."""
    deviation: dict[str, float] = {}
    for column in study.columns:
        deviation[column.name] = column.std
        present = max(column.count - column.missing, 1)
        for level, count in column.levels.items():
            p = count / present
            deviation[f"{column.name}={level}"] = math.sqrt(max(p * (1 - p), 0.0))
    scale = np.array([deviation.get(name, math.nan) for name in names])
    return scale if np.isfinite(scale).all() else None


# -------------------------------------------------------------------------------------------------
# Pictures of a classifier on the test set.


Texts = NDArray[np.str_]


def classification(study: result.Study) -> Gallery:
    """Confusion matrix, decision boundary, ROC and precision–recall curves, margins."""
    gallery, test = Gallery(), study.test_predictions
    if test is None:
        gallery.missing.append("The test rows are not stored, so decisions cannot be drawn.")
        return gallery
    labels = _labels(study, test)
    truth, called = _texts(test.truth), _texts(test.predicted)
    reject = None if study.decision is None else study.decision.reject_label
    if reject not in called:
        reject = None
    # Classes beyond which the cells of a confusion table are too small to read, and too many to
    # draw.
    if len(labels) > 40:
        gallery.missing.append(f"A confusion matrix of {len(labels)} classes is too large to read.")
    else:
        gallery.add(
            lambda: pictures.ConfusionMatrixDisplay.from_predictions(
                truth, called, labels=labels, reject_label=reject
            )
        )
    gallery.add(lambda: _boundary(study))
    if test.scores is None and test.probabilities is None:
        gallery.missing.append("This model has no scores, so it has no ROC curve.")
        return gallery
    scores = test.scores if test.probabilities is None else test.probabilities
    # Two by two: the margins stand beside the confusion matrix where there is no boundary.
    early = len(gallery.pictures) == 1
    if early and np.ptp(np.asarray(scores)) > 0:
        gallery.add(lambda: _margins(study, test, labels))
    _draw_ranking(study, test, labels, gallery)
    if not early and np.ptp(np.asarray(scores)) > 0:
        gallery.add(lambda: _margins(study, test, labels))
    return gallery


def _draw_ranking(
    study: result.Study, test: result.Predictions, labels: list[str], gallery: Gallery
) -> None:
    """Curves over the threshold of the score."""
    if len(labels) == 2 and np.ptp(_single(test)) > 0:
        gallery.add(lambda: _roc(study, test, labels[1]))
        gallery.add(
            lambda: pictures.PrecisionRecallDisplay.from_predictions(
                _texts(test.truth), _single(test), positive=labels[1], sample_weight=test.w
            )
        )
    scores = test.scores if test.probabilities is None else test.probabilities
    if len(labels) > 2 and np.ptp(np.asarray(scores)) > 0:
        gallery.add(
            lambda: pictures.OneVsRestRocDisplay.from_predictions(
                test.truth, scores, labels, sample_weight=test.w
            )
        )


def probabilities(study: result.Study) -> Gallery:
    """Calibration, and risk against coverage."""
    gallery, test = Gallery(), study.test_predictions
    if test is None or test.probabilities is None:
        if test is not None and study.task == "classification":
            gallery.missing.append(
                "This model has no probabilities, so calibration cannot be checked."
            )
        return gallery
    truth, p, labels = _texts(test.truth), test.probabilities, _labels(study, test)
    gallery.add(
        lambda: pictures.CalibrationDisplay.from_probabilities(
            truth, p, labels, sample_weight=test.w
        )
    )
    gallery.add(lambda: _coverage(study, test, labels))
    return gallery


def _coverage(study: result.Study, test: result.Predictions, labels: list[str]) -> Display:
    costs = None if study.decision is None else study.decision.costs
    picture = pictures.CoverageRiskDisplay.from_predictions(
        test.truth, test.probabilities, labels, costs=costs, sample_weight=test.w
    )
    if not picture.curve.risk.any():
        raise InputError(
            "The model makes no error on the test set, so rejection cannot lower the risk."
        )
    return picture


def _labels(study: result.Study, test: result.Predictions) -> list[str]:
    """The classes in order; those in the predictions where the study names none."""
    if study.classes:
        return list(study.classes)
    return sorted({*_texts(test.truth), *_texts(test.predicted)})


def _texts(labels: object) -> Texts:
    return np.array([str(v) for v in np.asarray(labels).tolist()])


def _boundary(study: result.Study) -> Display:
    if study.decision_surface is None:
        raise InputError(
            "The decision boundary is drawn for 2 to 10 classes and two numeric columns that vary."
        )
    agreement = study.decision_surface.agreement
    if agreement < LEAST_AGREEMENT:
        raise InputError(
            "The decision boundary is not drawn: on a plane, with all else at its mean, the model "
            f"predicts what it does for the whole row in only {100 * agreement:.0f} % of "
            f"{plural(len(study.decision_surface.dots), 'test row')}."
        )
    return pictures.DecisionBoundaryDisplay(study.decision_surface, MANY)


def _margins(study: result.Study, test: result.Predictions, labels: list[str]) -> Display:
    """Distances to the boundary of a linear model, log odds of any other."""
    model = study.description
    coef = None if model.wrapped else model.coefficients
    if coef is not None and test.scores is not None and np.any(coef):
        scale = None if study.training is None else study.training.scale
        if scale is not None and len(scale) != np.shape(coef)[-1]:
            scale = None
        return pictures.SignedDistanceDisplay.from_scores(
            test.truth, test.scores, coef, labels, scale=scale
        )
    if test.probabilities is None:
        raise InputError("Margins are drawn for linear models and for those with probabilities.")
    return pictures.LogOddsDisplay.from_probabilities(test.truth, test.probabilities, labels)


def _single(test: result.Predictions) -> Floats:
    """One score per row, high for the second of two classes."""
    if test.scores is None:
        p = np.maximum(np.asarray(test.probabilities, dtype=float), np.finfo(float).tiny)
        return np.asarray(np.log(p[:, 1]) - np.log(p[:, 0]))
    line = np.asarray(test.scores, dtype=float).reshape(len(test.truth), -1)
    return np.asarray(line[:, 0] if line.shape[1] == 1 else line[:, 1] - line[:, 0])


def _roc(study: result.Study, test: result.Predictions, positive: str) -> pictures.RocDisplay:
    """The curve of the test part over those of the folds; a fold of one class has none."""

    def curve(part: result.Predictions) -> RocCurve:
        truth = [str(v) for v in part.truth]
        return roc_curve(truth, _single(part), positive=positive, sample_weight=part.w)

    both = [part for part in study.out_of_fold if len(np.unique(part.truth)) == 2]
    return pictures.RocDisplay(
        curve(test), _threshold(test, positive), [curve(part) for part in both]
    )


def _threshold(test: result.Predictions, positive: str) -> float | None:
    """The score from which the model predicts the positive class; None where there is none.

    Calibration and costs move it from zero. With rejection there are two thresholds.
    """
    scores, answers = _single(test), _texts(test.predicted)
    called = answers == positive
    if len(np.unique(answers)) > 2:
        return None
    if ((scores > 0) == called).all() or ((scores >= 0) == called).all():
        return 0.0
    least = float(scores[called].min(initial=np.inf))
    return least if (scores[~called] < least).all() else None


# -------------------------------------------------------------------------------------------------
# Pictures of columns: as they are, how much each matters, and what the model makes of it.


#: The score that a loss of rows is drawn as.
_METRICS = {
    "squared_error": "rmse",
    "absolute_error": "mae",
    "log_loss": "log_loss",
    "error": "error",
    "balanced_error": "balanced_error",
    "cost": "cost",
}


def columns(study: result.Study) -> Gallery:
    """Histogram of the target, and correlations; of other columns where no model makes use of them.

    Those that the model uses are drawn beside their partial dependence.
    """
    gallery = Gallery()
    drawn = {curve.column for curve in study.dependence}
    for distribution in study.distributions:
        if distribution.column == study.target or (not drawn and study.importance is None):
            gallery.pictures.append(_distribution(distribution, study.target))
    pairs = study.correlations
    if pairs is not None:
        gallery.add(
            lambda: pictures.CorrelationDisplay(
                pairs.columns, pairs.matrix, pairs.n_columns + (study.target in pairs.columns)
            )
        )
    few = study.pairs
    if few is not None and np.isfinite(few.rows).all(axis=1).any():
        gallery.add(
            lambda: pictures.PairwiseDisplay(few.columns, few.rows, few.codes, study.classes)
        )
    return gallery


def importance(study: result.Study) -> Gallery:
    """Permutation importance of the columns."""
    gallery, importances = Gallery(), study.importance
    if importances is not None:
        gallery.pictures.append(_importance(importances))
    return gallery


def dependence(study: result.Study) -> Gallery:
    """The leading columns: each in the data, and beside it what the model makes of it."""
    gallery = Gallery()
    known = {d.column: d for d in study.distributions if d.column != study.target}
    for curve in study.dependence:
        if curve.column in known:
            gallery.pictures += [
                _distribution(known[curve.column], study.target),
                _dependence(curve),
            ]
    return gallery


def _importance(column_importance: result.ColumnImportance) -> Display:
    return pictures.PermutationImportanceDisplay.from_losses(
        column_importance.columns,
        column_importance.increase,
        np.stack([column_importance.low, column_importance.high], axis=1),
        column_importance.base,
        squared=column_importance.loss == "squared_error",
        metric=_METRICS[column_importance.loss],
        n_columns=column_importance.n_columns,
    )


def _dependence(partial_dependence: result.PartialDependence) -> Display:
    return pictures.PartialDependenceDisplay(
        partial_dependence.column,
        partial_dependence.levels or partial_dependence.values,
        partial_dependence.average,
        partial_dependence.outputs,
        partial_dependence.individual,
        partial_dependence.deciles,
        partial_dependence.scale,
        partial_dependence.display,
    )


def _distribution(column_distribution: result.ColumnDistribution, target: str) -> Display:
    return pictures.ColumnDistributionDisplay(
        column_distribution.column,
        column_distribution.counts,
        None if column_distribution.levels else column_distribution.edges,
        column_distribution.levels,
        column_distribution.classes,
        column_distribution.mean,
        column_distribution.deviation,
        target,
        column_distribution.missing,
        column_distribution.outside,
        column_distribution.display,
    )


# -------------------------------------------------------------------------------------------------
# Pictures of support vector machines, nearest neighbors and Gaussian processes.


def stored_rows(study: result.Study) -> Gallery:
    """Path and margins of an SVM; error by number of neighbors; length scales of a process."""
    gallery, model = Gallery(), study.description
    regression = study.task == "regression"
    search, neighbors, process = model.svm_search, model.neighbors, model.process
    if search is not None:
        gallery.add(lambda: _svm_path(search, regression=regression))
        if study.margins is not None:
            _svm_margins(study.margins, list(study.classes), gallery)
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
            lambda: pictures.RelevanceDisplay(
                process.names,
                process.length_scales,
                process.intervals,
                column_spreads(study, process.names),
            )
        )
    return gallery


def _svm_path(svm_search: SVMSearch, *, regression: bool) -> Display:
    """RMSE of regression, log loss of classes."""
    scores = np.sqrt(svm_search.scores) if regression else svm_search.scores
    metric = "rmse" if regression else "log_loss"
    return pictures.SVMPathDisplay(
        svm_search.Cs, svm_search.n_support, scores, svm_search.C, metric, svm_search.n_rows
    )


def _neighbor_count(neighbor_search: NeighborSearch, *, regression: bool) -> Display:
    if not regression:
        return pictures.NeighborCountDisplay(
            neighbor_search.counts,
            neighbor_search.error,
            neighbor_search.standard_error,
            neighbor_search.n_neighbors,
        )
    root = np.sqrt(neighbor_search.error)
    # √(e ± s) ≈ √e ± s / 2√e
    error = neighbor_search.standard_error / (2.0 * np.maximum(root, np.finfo(float).tiny))
    error = np.where(root > 0, error, 0.0)
    return pictures.NeighborCountDisplay(
        neighbor_search.counts, root, error, neighbor_search.n_neighbors, "rmse"
    )


def _distances(neighbor_search: NeighborSearch) -> Display:
    from separatrix.distances.axioms import DistanceConcentration  # compiles

    return pictures.DistanceConcentrationDisplay(
        DistanceConcentration(
            neighbor_search.distances, neighbor_search.spread, neighbor_search.nearest
        )
    )


def _svm_margins(margins: result.Margins, labels: list[str], gallery: Gallery) -> None:
    """Margins by class, support vectors on a plane, and dual coefficients of a binary SVM."""
    gallery.add(
        lambda: pictures.MarginDisplay.from_predictions(
            margins.y, margins.scores, positive=labels[1]
        )
    )
    gallery.add(lambda: _support_vectors(margins, labels))
    gallery.add(
        lambda: pictures.DualCoefficientDisplay(margins.alpha, margins.bound, margins.y, labels)
    )


def _support_vectors(margins: result.Margins, labels: list[str]) -> Display:
    plane = margins.plane
    if plane is None:
        raise InputError("Margins are drawn where two numeric columns vary.")
    agreement = _agreement(plane, margins.scores)
    if agreement < LEAST_AGREEMENT:
        raise InputError(
            "Margins are not drawn: on a plane, with all else at its mean, the decision function "
            f"has the sign that it has for the whole row in only {100 * agreement:.0f} % of "
            f"{plural(len(margins.scores), 'training row')}."
        )
    codes = (margins.y == labels[1]).astype(np.intp)
    return pictures.SupportVectorDisplay(plane, codes, labels, margins.alpha > 0, MANY)


def _agreement(plane: DecisionFunctionSurface, scores: Floats) -> float:
    """The fraction of rows on the same side of the boundary on the plane and by the model."""
    from scipy.interpolate import RegularGridInterpolator

    grid = RegularGridInterpolator((plane.y, plane.x), plane.values)
    on_plane = grid(np.asarray(plane.points, dtype=float)[:, ::-1])
    return float(np.mean((on_plane > 0) == (np.asarray(scores) > 0)))


# -------------------------------------------------------------------------------------------------
# Predictive distributions: intervals of the test rows, and whether they hold what they promise.


def uncertainty(study: result.Study) -> Gallery:
    """Intervals of the test rows; coverage, F(y) and residuals of rows out of fold."""
    gallery, interval, test = Gallery(), study.uncertainty, study.test_predictions
    if interval is None:
        return gallery
    band, check = interval.band, interval.check
    if band is not None:
        gallery.add(lambda: _band(band, study.target, interval.level))
    elif test is not None and test.intervals is not None:
        intervals = test.intervals
        display = next((c.display for c in study.columns if c.name == study.target), "")
        gallery.add(
            lambda: pictures.PredictiveIntervalDisplay(
                test.truth,
                test.predicted,
                intervals,
                interval.level,
                row_labels(test.rows, study.row_names),
                display=display,
            )
        )
    if check is None:
        gallery.missing.append(
            "No training row was predicted out of fold with its distribution, so coverage is not "
            "drawn."
        )
        return gallery
    gallery.add(lambda: _residuals(check, study.row_names))
    gallery.add(lambda: pictures.CoverageDisplay.from_pit(check.pit, sample_weight=check.w))
    gallery.add(lambda: pictures.PITDisplay.from_pit(check.pit, sample_weight=check.w))
    return gallery


def _band(
    predictive_band: result.PredictiveBand, target: str, level: float
) -> pictures.PredictiveBandDisplay:
    return pictures.PredictiveBandDisplay(
        predictive_band.x,
        predictive_band.mean,
        predictive_band.intervals,
        level,
        predictive_band.points,
        predictive_band.column,
        target,
        predictive_band.display,
        MANY,
    )


def _residuals(
    predictive_check: result.PredictiveCheck, names: Mapping[int, str]
) -> pictures.StandardizedResidualDisplay:
    return pictures.StandardizedResidualDisplay(
        np.asarray(predictive_check.mean, dtype=float),
        np.asarray(predictive_check.residuals, dtype=float),
        row_labels(predictive_check.rows, names),
        MANY,
    )


# -------------------------------------------------------------------------------------------------
# Conformal sets: coverage by class and how many labels they hold.


def draw_conformal(study: result.Study) -> Gallery:
    """Coverage by class, and sizes of sets; intervals have neither."""
    gallery, check = Gallery(), shown_check(study)
    if check is None or not check.sizes:
        return gallery
    if check.by_class:
        scores = check.by_class.values()
        gallery.add(
            lambda: pictures.CategoryCoverageDisplay(
                tuple(check.by_class),
                np.array([score.value for score in scores]),
                np.array([[score.low, score.high] for score in scores]),
                check.level,
            )
        )
    gallery.add(lambda: pictures.SetSizeDisplay(np.array(check.sizes), check.level))
    return gallery


# -------------------------------------------------------------------------------------------------
# Pictures of clusters: their number, silhouettes, profiles and projection.


def number_of_clusters(study: ClusterStudy) -> Gallery:
    """Sum of squares and silhouette over k; the dendrogram where there is one."""
    from separatrix.cluster.agglomerative import AgglomerativeClustering  # slow to import

    gallery, model = Gallery(), study.model
    counts = [trial.k for trial in study.trials]
    if len(counts) > 1:
        within = np.array([trial.within_ss for trial in study.trials]) / (study.total_ss or 1.0)
        silhouettes = np.array([trial.silhouette for trial in study.trials])
        gallery.add(lambda: pictures.ElbowDisplay(counts, within, silhouettes, study.k))
    if isinstance(model, AgglomerativeClustering):
        gallery.add(lambda: pictures.DendrogramDisplay.from_estimator(model))
    return gallery


def profiles(study: ClusterStudy) -> Gallery:
    """Means of the columns by cluster; the plane of largest scatter between clusters."""
    gallery, plotted = Gallery(), study.plotted
    gallery.add(lambda: _profile(study))
    names = [str(cluster.number) for cluster in study.clusters]
    gallery.add(
        lambda: pictures.ClusterProjectionDisplay(
            plotted.projection, plotted.clusters, names, plotted.names, MANY
        )
    )
    return gallery


def _profile(study: ClusterStudy) -> pictures.ClusterProfileDisplay:
    """Means of numeric columns, and proportions of levels, in standard deviations."""
    clusters = study.clusters
    rows = {
        name: [cluster.standardized_means[name] for cluster in clusters]
        for name in clusters[0].standardized_means
    }
    for (column, level), proportions in standardized_levels(clusters).items():
        rows[f"{column}: {level}"] = proportions
    if not rows:
        raise InputError("No column varies, so there is no picture of means.")
    return pictures.ClusterProfileDisplay(
        np.nan_to_num(np.array(list(rows.values())).T),
        list(rows),
        [str(cluster.number) for cluster in clusters],
        [cluster.size for cluster in clusters],
    )


def silhouettes(study: ClusterStudy) -> Gallery:
    """Silhouettes, cluster by cluster."""
    from separatrix.cluster.silhouette import Silhouette  # compiles, and not every page needs it

    gallery, plotted = Gallery(), study.plotted
    clusters = np.unique(plotted.clusters)
    means = np.array([study.clusters[int(j)].silhouette for j in clusters])
    shape = Silhouette(
        plotted.silhouettes, plotted.clusters, clusters, means, plotted.neighbors, study.silhouette
    )
    gallery.add(lambda: pictures.SilhouetteDisplay(shape))
    return gallery
