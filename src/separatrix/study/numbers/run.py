"""A study of a numeric target from its rows."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.estimators.averages.averaged import AveragedRegressor
from separatrix.linear.ridge.ridge_path import RidgePath
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.rows import ArrayRows, InMemory
from separatrix.selection.tuning import Tuning
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.study import inferred
from separatrix.study.candidates import Candidate
from separatrix.study.comparison.averaging import Chosen, choose_winner
from separatrix.study.comparison.cross_validation import muted
from separatrix.study.comparison.learning_curve import learning_curve
from separatrix.study.comparison.options import Options
from separatrix.study.describe import describe
from separatrix.study.description import RegularizationPath
from separatrix.study.design import StudyDesign, training_rows, with_warnings
from separatrix.study.folds import MomentFolds, truth_of
from separatrix.study.measure import regression_scores, row_losses
from separatrix.study.numbers.compare import ComparedNumbers, compare_numbers
from separatrix.study.numbers.predictive import predictive_for, uncertainty
from separatrix.study.progress import Step, stages, tell_inferred, work_of
from separatrix.study.result import LearningCurve, Predictions, Score, Study
from separatrix.study.tasks import REGRESSION
from separatrix.study.uncertainty import LEVEL
from separatrix.study.validation.choice import choose_validated
from separatrix.study.validation.nested import Procedure, Selected

METRIC = "rmse"
#: Penalties from "all coefficients near zero" to "least squares"; enough for a smooth line.
PATH_POINTS = 60
#: Winners beside whose coefficients the path of ridge is drawn; those with a penalty have their
#: own.
WITHOUT_PENALTY = ("linear", "huber", "least_absolute")


def study_regression(design: StudyDesign, options: Options) -> Study:
    """Compare on the folds, choose, and score on the test set once."""
    folds, moments = design.folds, _moment_folds(design)
    metric = options.metric_for(REGRESSION)
    tell_inferred(design.progress, design.announced, design.candidates)
    work = work_of(design.candidates, len(folds.training), reference=options.reference)
    work = options.validation.stages(work, len(design.candidates), folds.k)
    with stages(design.progress, work) as step:
        compared = compare_numbers(design, moments, options, metric, step)
        compared, chosen, judged = choose_validated(
            compared, design, options, _procedure(options), step
        )
        choice = chosen.choice
        step(f"fitting {choice.winner} to all training rows")
        model, warned = with_warnings(lambda: _fit_winner(design, moments, compared, chosen))
        step("reference")
        reference = compared.reference(choice.best) if options.reference else None
        step("scoring on the test set")
        test_rows = folds.table.take(folds.test)
        predictive = predictive_for(model, test_rows)
        test_predictions = _predicted(model, test_rows, predictive, options.level)
        baseline, _ = with_warnings(lambda: _fitted(design.baseline, design, moments, None))
        step("learning curve")
        curve = None if chosen.averaged is not None else _curve(choice.winner, design, compared)
    description, check = describe(model), compared.check(choice.winner)
    return Study(
        source=design.metadata.source,
        command=design.metadata.command,
        target=design.target,
        task=REGRESSION,
        seed=design.parts.seed,
        test_fraction=design.parts.test,
        n_train=len(folds.training),
        n_test=len(folds.test),
        columns=design.columns,
        leaderboard=chosen.entries,
        winner=choice.winner,
        reason=choice.reason,
        choice=choice,
        reference=reference,
        test=_scores(test_predictions, design),
        baseline_test=_scores(_predicted(baseline, test_rows), design),
        model=model,
        description=description,
        messages=(
            *design.messages,
            *inferred.about_model(model.encoding_, description.stored_rows),
        ),
        warnings=(*design.warnings, *warned),
        test_predictions=test_predictions,
        learning_curve=curve,
        training=training_rows(model, model, folds, model.encoding_),
        ridge_path=ridge_path(_design_of(model, design))
        if choice.winner in WITHOUT_PENALTY
        else None,
        uncertainty=uncertainty(model, test_rows, predictive, options.level, check),
        **judged,
    )


def _procedure(options: Options) -> Procedure:
    """The selection as a whole: compare, choose, fit."""
    metric = options.metric_for(REGRESSION)

    def compare(design: StudyDesign, step: Step) -> ComparedNumbers:
        return compare_numbers(design, _moment_folds(design), options, metric, step)

    def select(design: StudyDesign, step: Step) -> Selected:
        compared = compare(design, step)
        chosen = choose_winner(compared, options)
        model = _fit_winner(design, _moment_folds(design), compared, chosen)
        return Selected(chosen, lambda rows: _predicted(model, rows))

    def losses(found: Predictions) -> Floats:
        w = unit_weights(found.w, len(found.truth))
        return row_losses(metric, found.truth, found.predicted, w)

    return Procedure(metric, compare, select, losses)


def _curve(winner: str, design: StudyDesign, compared: ComparedNumbers) -> LearningCurve | None:
    tuning = compared.predictions[winner].tuning
    return learning_curve(design.named(winner), design.folds, METRIC, design.parts.seed, tuning)


def _fit_winner(
    design: StudyDesign,
    moments: MomentFolds | None,
    compared: ComparedNumbers,
    chosen: Chosen,
) -> Any:
    """The winner on all folds: one candidate, or several with their weights."""

    def fit(name: str) -> Any:
        return _fitted(design.named(name), design, moments, compared.predictions[name].tuning)

    averaged = chosen.averaged
    if averaged is None:
        return fit(chosen.choice.winner)
    models = [fit(name) for name in averaged.weights]
    blank = AveragedRegressor([clone(model) for model in models], cv=design.folds.k)
    return blank.from_fitted(models, averaged.average)


def _fitted(
    candidate: Candidate, design: StudyDesign, moments: MomentFolds | None, tuning: Tuning | None
) -> Any:
    """A penalty is tuned on the folds of the comparison; the others get the rows.

    Rows have more digits than moments, and residuals and leverage.
    """
    if moments is not None and candidate.from_moments and candidate.tuned:
        return moments.fit(candidate)
    return design.folds.fit(candidate, tuning)


def _moment_folds(design: StudyDesign) -> MomentFolds | None:
    """Moments by fold, from one pass over the rows.

    None where imputation by regression needs the rows again, where columns outnumber rows, or where
    folds are predicted from earlier ones alone.
    """
    table, folds = design.table, design.folds
    if folds.ordered or table.schema.missing == "regress" or folds.design is not table:
        return None
    split = table.with_parts(folds.labels)
    return MomentFolds.of(split.schema, split.reduce(Grouped(Moments())))


def _predicted(
    model: Any,
    rows: InMemory,
    predictive: PredictiveDistribution | None = None,
    level: float = LEVEL,
) -> Predictions:
    """Predictions of the test rows, with the ends of intervals where there are distributions."""
    intervals = None if predictive is None else predictive.interval(level)
    truth, predicted = truth_of(rows), model.predict(rows)
    return Predictions(rows.row_ids, truth, predicted, None, rows.block.w, intervals=intervals)


def _scores(test: Predictions, design: StudyDesign) -> tuple[Score, ...]:
    return regression_scores(test.truth, test.predicted, test.w, design.parts.seed)


def _design_of(model: Any, design: StudyDesign) -> Moments | ArrayRows:
    """Moments of the encoded columns; the rows, where they are no more than the columns."""
    rows = design.folds.table.take(design.folds.training)
    block = model.encoding_.apply(rows.block)
    if block.n <= block.x.shape[1]:
        return ArrayRows(block.x, block.y, block.w)
    moments = Moments()
    moments.update(block)
    return moments


def ridge_path(source: Moments | ArrayRows) -> RegularizationPath:
    """The path of ridge regression on standardized columns, beside a winner without penalty.

    b(α) = argmin Σ w (y − a − b·z)² + α ‖b‖²;  one decomposition gives every α.
    """
    with muted():
        path = RidgePath(PATH_POINTS, standardize=True).fit(source)
    return RegularizationPath(path.alphas_, path.coefs_)
