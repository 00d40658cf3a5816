"""Which candidate is chosen: by differences of losses on the same rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import separatrix as sx
from separatrix.messages import InputError, SeparatrixWarning
from separatrix.samples import sample
from separatrix.study.candidates import compared_models
from separatrix.study.comparison import (
    CandidateLosses,
    RowComparison,
    Scored,
    warn_of_exact_fit,
)
from separatrix.study.options import SHARE, RowLosses, choose, difference

RNG = np.random.default_rng(0)
HARD = RNG.exponential(1.0, 400)  # rows that are hard for every model
ONES = np.ones(400)


def chosen(rule: str = "one_se", **losses: np.ndarray):
    return choose(RowLosses({"baseline": HARD + 5.0, **losses}, ONES), metric="error", rule=rule)


def noise(scale: float, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(0, scale, 400)
    return drawn - drawn.mean()


def test_the_simplest_within_one_standard_error_of_the_difference_wins() -> None:
    choice = chosen(linear=HARD + 0.005 + noise(0.2, 1), ridge=HARD + 0.004, lasso=HARD)
    assert choice.winner == "linear"
    assert choice.best == "lasso"
    assert choice.other_rule_winner == "lasso"
    assert "simplest" in choice.reason
    assert "lasso" in choice.reason


def test_a_model_that_is_worse_on_every_row_is_not_as_good() -> None:
    # standard errors of the means overlap widely: 0.05 each; those of the differences do not
    choice = chosen(linear=HARD + 0.01, ridge=HARD)
    assert choice.winner == "ridge"
    assert choice.differences["linear"].standard_error < 1e-12


def test_the_share_limits_what_noise_would_allow() -> None:
    noisy = HARD + 2 * SHARE * HARD.mean() + noise(5.0, 2)
    assert difference(noisy, HARD, ONES).mean < difference(noisy, HARD, ONES).standard_error
    assert chosen(linear=noisy, ridge=HARD).winner == "ridge"


def test_of_few_rows_the_standard_error_of_the_difference_decides_alone() -> None:
    few = slice(40)  # their mean loss is known to some 15 %
    simple = HARD[few] * 1.1 + noise(1.0, 2)[few]
    apart = difference(simple, HARD[few], ONES[few])
    assert SHARE * HARD[few].mean() < apart.mean < apart.standard_error
    losses = {"baseline": HARD[few] + 5.0, "linear": simple, "svr": HARD[few]}
    choice = choose(RowLosses(losses, ONES[few]), metric="error")
    assert choice.winner == "linear"
    assert "of the best, SVR, and within the standard error of its loss" in choice.reason


def test_fifty_states_are_too_few_for_a_kernel() -> None:
    from statsmodels.datasets import statecrime

    table = statecrime.load_pandas().data
    study = sx.run_study(sx.scan(table, target="murder"), models=["linear", "svr"])
    assert study.winner == "linear"
    assert next(s.value for s in study.test if s.metric == "r2") > 0.8


def test_the_rule_best_takes_the_least_loss_and_names_the_other() -> None:
    choice = chosen("best", linear=HARD + 0.005 + noise(0.2, 1), lasso=HARD)
    assert choice.winner == "lasso"
    assert choice.other_rule_winner == "linear"
    assert "smallest" in choice.reason


def test_the_baseline_wins_unless_something_beats_it_by_two_standard_errors() -> None:
    baseline = HARD
    losses = {"baseline": baseline, "linear": HARD - 0.01 + noise(1.0, 3)}
    choice = choose(RowLosses(losses, ONES), metric="error")
    assert choice.winner == "baseline"
    assert "more than chance" in choice.reason
    losses["ridge"] = HARD - 0.01  # a small gain, on every row
    assert choose(RowLosses(losses, ONES), metric="error").winner != "baseline"


def test_the_second_metric_is_evidence_against_the_baseline() -> None:
    losses = {"baseline": HARD, "linear": HARD}  # no error is avoided where a class is rare
    evidence = {"baseline": HARD + 1.0, "linear": HARD}
    assert choose(RowLosses(losses, ONES), metric="error").winner == "baseline"
    assert (
        choose(
            RowLosses(losses, ONES), {"log_loss": RowLosses(evidence, ONES)}, metric="error"
        ).winner
        == "linear"
    )


def test_a_winner_that_is_worse_than_the_baseline_in_a_metric_is_called_so() -> None:
    errors = {"baseline": HARD + 1.0, "linear": HARD}
    logs = {"baseline": HARD, "linear": HARD + 1.0}
    choice = choose(RowLosses(errors, ONES), {"log_loss": RowLosses(logs, ONES)}, metric="error")
    assert choice.winner == "linear"
    assert "log loss" in choice.reason
    assert "worse than that of the baseline" in choice.reason
    same = choose(RowLosses(errors, ONES), {"log_loss": RowLosses(errors, ONES)}, metric="error")
    assert "worse" not in same.reason


def test_weights_count_as_repeated_rows(rng: np.random.Generator) -> None:
    w = rng.integers(1, 4, 50).astype(float)
    a, b = rng.normal(size=(2, 50))
    repeated = difference(
        np.repeat(a, w.astype(int)), np.repeat(b, w.astype(int)), np.ones(int(w.sum()))
    )
    assert difference(a, b, w).mean == pytest.approx(repeated.mean)


def scored(name: str, rows: np.ndarray, losses: np.ndarray) -> Scored:
    candidate = compared_models("regression")[name]
    return Scored(candidate, CandidateLosses(rows, rows % 2, np.ones(len(rows)), {"rmse": losses}))


def test_candidates_are_compared_on_the_rows_that_all_were_scored_on() -> None:
    rows = np.arange(100)
    easy = np.where(rows < 50, 1.0, 9.0)
    comparison = RowComparison(
        [
            scored("baseline", rows, easy + 5),
            scored("linear", rows, easy),
            scored("ridge", rows[:50], easy[:50] + 0.5),
        ],
        "rmse",
    )
    assert comparison.rows.tolist() == rows[:50].tolist()
    means = {entry.name: entry.mean for entry in comparison.entries}
    assert means["linear"] == pytest.approx(1.0)
    assert means["ridge"] == pytest.approx(1.5**0.5)
    assert comparison.choose("best").winner == "linear"


def test_a_model_that_could_not_be_fitted_cannot_win() -> None:
    rows = np.arange(60)
    candidate = compared_models("regression")["linear"]
    lines = [
        scored("baseline", rows, np.full(60, 9.0)),
        Scored(candidate, None, note="it refuses"),
        scored("ridge", rows, np.full(60, 1.0)),
    ]
    comparison = RowComparison(lines, "rmse")
    assert comparison.choose("one_se").winner == "ridge"
    assert np.isnan(comparison.entries[1].mean)
    assert comparison.entries[1].note == "it refuses"
    alone = RowComparison(lines[:2], "rmse").choose("one_se")
    assert alone.winner == "baseline"
    assert "it refuses" in alone.reason


def test_errors_of_a_study_are_those_of_separate_fits() -> None:
    rows = sx.scan(sample("diabetes").path, target="progression").read()
    study = sx.run_study(rows, models=["linear"])
    labels = rows.with_parts(sx.Parts()).block.parts
    squares = []
    for fold in range(5):
        model = sx.LinearRegression().fit(
            rows.take(np.flatnonzero((labels >= 0) & (labels != fold)))
        )
        outside = rows.take(np.flatnonzero(labels == fold))
        squares.append((model.predict(outside) - outside.block.y[:, 0]) ** 2)
    entry = next(e for e in study.leaderboard if e.name == "linear")
    assert entry.mean == pytest.approx(np.sqrt(np.concatenate(squares).mean()), rel=1e-9)
    assert entry.folds == pytest.approx([np.sqrt(s.mean()) for s in squares], rel=1e-9)


def test_unknown_goals_metrics_and_efforts_are_refused() -> None:
    rows = sx.scan(sample("diabetes").path, target="progression").read()
    for wrong in ({"goal": "best"}, {"metric": "error"}, {"effort": "hard"}):
        with pytest.raises(InputError):
            sx.run_study(rows, models=["linear"], **wrong)


def test_a_model_that_passes_through_its_training_rows_is_called_so(rng) -> None:
    x = rng.normal(size=(120, 2))
    noisy = {"a": x[:, 0], "b": x[:, 1], "y": np.sin(2.0 * x[:, 0]) + 0.3 * rng.normal(size=120)}
    exact = noisy | {"y": 2.0 * x[:, 0] - x[:, 1]}
    study = sx.run_study(sx.scan(noisy, target="y"), models=["svr"], reference=False)
    assert not any("SEP021" in text for text in study.warnings)
    study = sx.run_study(sx.scan(exact, target="y"), models=["linear"], reference=False)
    assert not any("SEP021" in text for text in study.warnings)
    curve = replace(study.learning_curve, train=np.zeros((2, 3)), validation=np.ones((2, 3)))
    with pytest.warns(SeparatrixWarning, match="SEP021 SVR has an error of 0 on its training"):
        warn_of_exact_fit(curve, "svr", 2.0)
