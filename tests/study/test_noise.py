"""Pure noise: nothing may predict better than equal answers do, however rows are held out.

The gain of a model over the baseline on one table, in nats (n times the difference of the log
losses, and ½ n log of the ratio of the squared errors), has an expectation of e^gain near 1 where
what predicts a row knows nothing of it: exactly 1 for predictions one after the other, and between
0.3 and 8 in three hundred tables of this kind for every candidate and every way to hold out. So
the gains of four independent tables sum to more than t with a probability below 8⁴ e^{−t}: t = 28
makes that 3e-9 for one candidate and way, and below 1e-6 for all 150 of them together.
Calibrations that read labels back gave up to 25 nats on each table.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import separatrix as sx

TABLES, LIMIT, N = 4, 28.0, 60

WAYS: dict[str, dict[str, Any]] = {
    "2 folds": {"folds": 2},
    "5 folds": {"folds": 5},
    "10 folds": {"folds": 10},
    "30 folds": {"folds": 30},
    "60 folds": {"folds": 60},
    "leave-one-out": {"folds": "loo"},
    "repeats": {"folds": 4, "repeats": 2},
    "groups": {"folds": 5, "group": "who"},
    "groups left out": {"folds": "loo", "group": "who"},
    "time": {"folds": 4, "time": "when"},
}


def noise(seed: int, classes: int) -> dict[str, Any]:
    rng = np.random.default_rng([20, seed, classes])
    table: dict[str, Any] = {"a": rng.normal(size=N), "b": rng.normal(size=N)}
    table["y"] = rng.choice(list("uvw")[:classes], N) if classes else rng.normal(size=N)
    table["who"] = [f"g{i}" for i in rng.integers(0, N // 4, N)]
    table["when"] = np.arange(N)
    return table


def hostile_noise(seed: int, classes: int) -> tuple[dict[str, Any], int]:
    """Dates, texts of many levels, a skewed target, and every row three times; the copies."""
    rng = np.random.default_rng([21, seed, classes])
    table: dict[str, Any] = {"a": rng.normal(size=N), "b": rng.exponential(size=N)}
    days = rng.integers(0, 900, N).astype("timedelta64[D]")
    table["day"] = (np.datetime64("2020-01-01") + days).astype("datetime64[ns]")
    table["item"] = np.array([f"item {i}" for i in rng.integers(0, N // 3, N)])
    table["y"] = rng.choice(list("uvw")[:classes], N) if classes else rng.exponential(size=N)
    return {name: np.tile(values, 3) for name, values in table.items()}, 3


def gains(table: dict[str, Any], **options: Any) -> tuple[dict[str, float], str]:
    """Nats that each candidate gains on the baseline, and what is chosen."""
    roles = {role: options.pop(role) for role in ("group", "time") if role in options}
    names = [name for name in table if name not in ("who", "when") or name in roles.values()]
    rows = sx.scan({name: table[name] for name in names}, target="y", **roles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = sx.run_study(rows, reference=False, **options)
    baseline, *others = study.leaderboard
    n, found = study.n_train, {}
    for entry in others:
        if entry.folds and math.isfinite(entry.mean):
            if entry.metric == "rmse":
                found[entry.name] = n * math.log(baseline.mean / entry.mean)
            else:
                found[entry.name] = n * (baseline.mean - entry.mean)
    return found, study.winner


CASES = [
    *((way, 2) for way in WAYS),
    *((way, 3) for way in ("5 folds", "leave-one-out")),
    *((way, 0) for way in ("2 folds", "5 folds", "30 folds", "leave-one-out", "groups", "time")),
]
#: Without those whose penalty or posterior is found again in each of many fits.
QUICK = {
    0: ["linear", "bayes", "neighbors", "svr", "gp"],
    3: ["lda", "nearest_centroid", "rda", "neighbors", "svm"],
}


@pytest.mark.parametrize(("way", "classes"), CASES)
def test_nothing_is_gained_on_pure_noise(way: str, classes: int) -> None:
    total: dict[str, float] = defaultdict(float)
    options = dict(WAYS[way])
    if classes in QUICK and options["folds"] in (30, "loo"):
        options["models"] = QUICK[classes]
    for seed in range(TABLES):
        for name, gain in gains(noise(seed, classes), **options)[0].items():
            total[name] += gain
    assert total
    assert max(total.values()) < LIMIT, dict(total)


@pytest.mark.parametrize(("folds", "classes"), [(5, 0), (5, 2)])
def test_nothing_is_gained_by_averages_dates_texts_and_logarithms(folds: int, classes: int) -> None:
    """Copies of a row are evidence once."""
    total: dict[str, float] = defaultdict(float)
    for seed in range(TABLES):
        table, copies = hostile_noise(seed, classes)
        for name, gain in gains(table, folds=folds, goal="accuracy")[0].items():
            total[name] += gain / copies
    assert "learned_metric" in total
    assert classes or {"additive", "log_ridge"} <= set(total)
    assert max(total.values()) < LIMIT, dict(total)


def test_equally_frequent_classes_left_out_one_at_a_time_are_no_evidence() -> None:
    """Without a row its class is the rarer one: what repeats the others' proportions is wrong."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(["u", "v"], 40))
    table = sx.scan({"a": rng.normal(size=80), "y": labels}, target="y")
    for metric in ("log_loss", "error"):
        study = sx.run_study(
            table, models=["lda", "logistic_ridge"], folds="loo", metric=metric, reference=False
        )
        assert study.leaderboard[0].mean == pytest.approx(
            math.log(2) if metric == "log_loss" else 0.5
        )
        assert study.winner == "baseline"


@pytest.mark.parametrize("classes", [0, 2])
def test_nothing_is_gained_by_the_levels_of_a_column_of_pure_noise(classes: int) -> None:
    """A column of 500 levels in 700 rows can repeat any target of the rows that it has seen."""
    rng = np.random.default_rng([7, classes])
    n = 700
    table = {
        "a": [f"l{i}" for i in rng.integers(0, 500, n)],
        "b": rng.normal(size=n),
        "y": rng.choice(list("uv"), n) if classes else rng.normal(size=n),
    }
    shrunk = ["additive", "additive_pairs"]  # each level a share of its mean
    models = ["logistic_ridge" if classes else "ridge", "neighbors", "learned_metric", *shrunk]
    found, winner = gains(table, models=models, effort="quick")
    assert set(found) == set(models)
    assert max(found.values()) < LIMIT / TABLES
    assert winner == "baseline"
