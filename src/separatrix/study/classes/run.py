"""A study of classes: compared by log loss or error rate, calibrated, decided by expected cost.

out-of-fold probabilities ─ choice ─ calibration ─ costs ─ a class or a rejection
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.study import inferred
from separatrix.study.candidates import BASELINE
from separatrix.study.checks.rare_classes import missed_classes
from separatrix.study.classes.compare import compare_classes
from separatrix.study.classes.costs import DecisionCosts, about_costs, decision_costs, evaluate
from separatrix.study.classes.covariances import covariance_tests
from separatrix.study.classes.out_of_fold import by_fold
from separatrix.study.classes.planes import margins_of, surface_of
from separatrix.study.classes.scores import scores_by_class, scores_on_test
from separatrix.study.classes.selection import selection_of_classes
from separatrix.study.classes.winner import fit_winner, predictions
from separatrix.study.comparison.options import Options
from separatrix.study.describe import describe
from separatrix.study.design import StudyDesign, training_rows, with_warnings
from separatrix.study.folds import truth_of
from separatrix.study.progress import stages, tell_inferred, work_of
from separatrix.study.result import Score, Study
from separatrix.study.tasks import CLASSIFICATION
from separatrix.study.validation.choice import choose_validated


def study_classes(design: StudyDesign, options: Options) -> Study:
    """Compare on the folds, choose, calibrate, and score on the test set once."""
    folds = design.folds
    labels = np.array(sorted(str(t.level) for t in design.table.block.targets), dtype=object)
    classes, messages = _known_classes(design, labels)
    costs = decision_costs(options.costs, options.reject, labels)
    names = tuple(str(c) for c in classes)
    messages += [*inferred.about_classes(names), *about_costs(costs, classes)]
    tell_inferred(design.progress, [*design.announced, *messages], design.candidates)
    work = work_of(design.candidates, len(folds.training), reference=options.reference)
    work = options.validation.stages(work, len(design.candidates), folds.k)
    procedure = selection_of_classes(classes, options, costs)
    with stages(design.progress, work) as step:
        compared = compare_classes(design, classes, options, costs, step)
        compared, chosen, judged = choose_validated(compared, design, options, procedure, step)
        choice, name = chosen.choice, chosen.choice.winner
        step(f"fitting {name} to all training rows")
        winner = fit_winner(design, compared, chosen, costs)
        step("reference")
        reference = compared.reference(choice.best) if options.reference else None
        step("scoring on the test set")
        test = winner.predict(folds.table.take(folds.test), classes)
        decision = None if winner.costs is None else evaluate(winner.costs, classes, test)
        step("learning curve")
        curve = winner.curve(folds, design.parts.seed)
    encoding, description = winner.encoding, describe(winner.model)
    messages += winner.messages
    messages += inferred.about_model(encoding, description.stored_rows)
    return Study(
        source=design.metadata.source,
        command=design.metadata.command,
        target=design.target,
        task=CLASSIFICATION,
        seed=design.parts.seed,
        test_fraction=design.parts.test,
        n_train=len(folds.training),
        n_test=len(folds.test),
        columns=design.columns,
        leaderboard=chosen.entries,
        winner=name,
        reason=choice.reason,
        choice=choice,
        reference=reference,
        test=scores_on_test(test, classes, decision),
        baseline_test=_baseline(design, classes, winner.costs),
        model=winner.model,
        description=description,
        messages=(*design.messages, *messages),
        warnings=(*design.warnings, *winner.warnings, *missed_classes(test, names)),
        classes=names,
        test_predictions=test,
        learning_curve=curve,
        training=training_rows(winner.core, winner.model, folds, encoding, len(classes)),
        out_of_fold=() if name == BASELINE else by_fold(winner.out_of_fold, folds),
        calibration=winner.check,
        decision=decision,
        covariance_tests=covariance_tests(folds, classes),
        decision_surface=surface_of(winner.model, folds, test),
        margins=margins_of(winner.core, folds),
        class_scores=scores_by_class(test, classes),
        **judged,
    )


def _known_classes(design: StudyDesign, labels: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """The classes of the training rows, in order; a message on any that is in the test set alone.

    A class whose rows have no weight is as good as absent.
    """
    rows = design.table.take(design.folds.training)
    truth = truth_of(rows)
    present = set(truth if rows.block.w is None else truth[rows.block.w > 0])
    classes = np.array([label for label in labels if label in present], dtype=object)
    others = [str(label) for label in labels if label not in present]
    if len(classes) < 2:
        raise InputError(
            f"all {len(rows)} training rows are of class {classes[0]!r}; there are too few of any "
            "other.",
            column=design.target,
            remedy="Give more rows of the other classes, or split otherwise (`seed`, `test`).",
        )
    if not others:
        return classes, []
    shown = ", ".join(repr(o) for o in others[:4]) + (" …" if len(others) > 4 else "")
    which = f"Class {shown} is" if len(others) == 1 else f"Classes {shown} are"
    return classes, [
        f"{which} in the test set alone: no model can predict it, and its rows count as errors "
        "(give more rows of it)."
    ]


def _baseline(
    design: StudyDesign, classes: NDArray[Any], costs: DecisionCosts | None
) -> tuple[Score, ...]:
    """The scores of the baseline on the test set, under the same costs."""
    folds = design.folds
    model = with_warnings(lambda: folds.fit(design.baseline))[0]
    test = predictions(model, model, folds.table.take(folds.test), classes)
    return scores_on_test(test, classes, None if costs is None else evaluate(costs, classes, test))
