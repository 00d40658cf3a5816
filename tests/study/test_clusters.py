"""Groups in a table: found where they are, denied where they are not, described in its units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score, silhouette_score

import separatrix as sx
from separatrix.messages import InputError
from separatrix.samples import sample
from separatrix.statistics.moments import prepare
from separatrix.study.cluster.result import Reference, Stability, Structure, Verdict, verdict_on
from separatrix.study.cluster.run import run_clusters
from separatrix.study.cluster.search import (
    METHODS,
    DifferentRows,
    Method,
    PartitionSearch,
    adjusted_rand,
    marginal,
    references,
    row_samples,
    stability,
    structure,
)
from separatrix.study.options import Effort

NUMBERS = tuple(range(2, 11))


def blobs(n: int = 150, d: int = 2, seed: int = 0, apart: float = 7.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = apart * (np.arange(d) % 3 == np.arange(3)[:, None])
    return centers[np.arange(n) % 3] + rng.normal(size=(n, d))


def standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def structure_of(x: np.ndarray, method: str = "kmeans", seed: int = 0, most: int = 10):
    numbers = tuple(k for k in NUMBERS if k <= min(len(x) // 4, most))
    return structure(Method(method), standard(x), [], numbers, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def wine():
    rows = sx.scan(str(sample("wine").path), kinds={"cultivar": "ignore"})
    return run_clusters(rows, source="sample:wine")


# -- whether groups are real -----------------------------------------------------------------------


def without_groups(kind: str, n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, n, d])
    if kind == "uniform":
        return rng.uniform(size=(n, d))
    x = rng.normal(size=(n, d))
    return x @ rng.normal(size=(d, d)) if kind == "correlated" else x


@pytest.mark.parametrize("kind", ["uniform", "normal", "correlated"])
def test_one_cloud_is_not_taken_for_groups(kind) -> None:
    alarms = [
        structure_of(without_groups(kind, n, d, seed)).significant
        for n in (50, 250)
        for d in (2, 8)
        for seed in range(2)
    ]
    assert sum(alarms) <= 2  # at a level of 5 % three of eight come once in 170 runs


@pytest.mark.parametrize("draw", ["exponential", "lognormal", "heavy"])
def test_neither_skew_nor_outliers_are_groups(draw) -> None:
    alarms = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        drawn = {
            "exponential": rng.exponential(size=(200, 2)),
            "lognormal": np.exp(rng.normal(size=(200, 3))),
            "heavy": rng.standard_t(2, size=(200, 3)),
        }
        alarms += structure_of(drawn[draw]).significant
    assert alarms <= 1


@pytest.mark.parametrize("d", [2, 5, 10])
def test_separated_groups_are_always_found(d) -> None:
    for n in (50, 150):
        found = structure_of(blobs(n, d, seed=n + d), most=5)
        assert found.significant
        assert found.p_value <= 0.05
        assert found.effect > 0.1
        assert "tables without groups" in found.summary


def test_iris_has_groups() -> None:
    assert structure_of(load_iris().data, most=4).significant


@pytest.mark.parametrize("method", ["kmedoids", "average", "ward", "kernel"])
def test_the_other_methods_separate_them_as_well(method) -> None:
    assert structure_of(blobs(90), method, most=5).significant
    assert not structure_of(without_groups("normal", 90, 3, 1), method, most=5).significant


def test_a_category_alone_is_no_group() -> None:
    rng = np.random.default_rng(8)
    x = np.column_stack([rng.normal(size=(200, 3)), rng.integers(0, 2, 200)])
    rng = np.random.default_rng(0)
    found = structure(Method("kmeans"), standard(x), [[3]], NUMBERS, rng)
    assert not found.significant


def test_the_draws_stop_once_the_test_is_decided() -> None:
    found = structure_of(without_groups("uniform", 100, 2, 0))
    first = found.references[0]
    assert first.p_value > 0.05
    assert len(found.references) == 1
    assert sum(value >= found.silhouette for value in first.silhouettes) == 2
    assert first.silhouettes[-1] >= found.silhouette
    assert first.p_value == 2 / len(first.silhouettes)


# -- tables without groups -------------------------------------------------------------------------


def test_a_marginal_is_unimodal() -> None:
    rng = np.random.default_rng(0)
    column = np.concatenate([rng.normal(-4, 1, 100), rng.normal(4, 1, 100)])
    fitted = marginal(column)
    density = np.diff(fitted.probabilities) / np.diff(fitted.values)
    steps = np.diff(density)
    turns = np.sign(steps[np.abs(steps) > 1e-9 * density.max()])
    assert (np.diff(turns) != 0).sum() <= 1  # rises, then falls
    assert (fitted.probabilities[0], fitted.probabilities[-1]) == (0.0, 1.0)


def test_a_unimodal_column_is_left_as_it_is() -> None:
    rng = np.random.default_rng(1)
    for column in (rng.normal(size=500), rng.exponential(size=500), rng.uniform(size=500)):
        fitted = marginal(column)
        drawn = fitted.quantile(rng.uniform(size=20_000))
        assert stats.ks_2samp(drawn, column).statistic < 0.06


def test_few_values_stay_those_values() -> None:
    column = np.repeat([1.0, 2.0, 5.0], [10, 20, 70])
    fitted = marginal(column)
    drawn = fitted.quantile(np.random.default_rng(0).uniform(size=20_000))
    assert set(drawn) == {1.0, 2.0, 5.0}
    assert np.mean(drawn == 5.0) == pytest.approx(0.7, abs=0.02)


def test_references_keep_spread_ties_and_categories() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 3)) @ np.array([[1, 0.9, 0], [0, 0.4, 0], [0, 0, 1.0]])
    dummies = np.eye(3)[rng.integers(0, 3, 400)][:, 1:]
    table = np.column_stack([x, dummies])
    drawn = {name: draw(rng) for name, draw in references(table, [[3, 4]]).items()}
    smooth = drawn["unimodal"]
    np.testing.assert_allclose(np.corrcoef(smooth.T)[:3, :3], np.corrcoef(x.T), atol=0.12)
    np.testing.assert_allclose(smooth[:, :3].std(axis=0), x.std(axis=0), rtol=0.15)
    for found in drawn.values():
        assert sorted(map(tuple, found[:, 3:])) == sorted(map(tuple, dummies))
    box = drawn["uniform"][:, :3] - x.mean(axis=0)
    axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2]
    reach = (x - x.mean(axis=0)) @ axes.T
    assert ((box @ axes.T) <= reach.max(axis=0) + 1e-9).all()
    assert ((box @ axes.T) >= reach.min(axis=0) - 1e-9).all()


# -- stability -------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40))
def test_agreement_is_the_adjusted_rand_index(pairs) -> None:
    one, two = (np.array(column) for column in zip(*pairs, strict=True))
    found = adjusted_rand(one, two)
    assert found == pytest.approx(adjusted_rand_score(one, two), abs=1e-12)


def test_groups_come_again_and_a_cloud_does_not() -> None:
    rng = np.random.default_rng(0)
    for x, low, high in ((blobs(), 0.99, 1.0), (rng.normal(size=(200, 6)), -0.1, 0.8)):
        search = PartitionSearch(Method("kmeans"), standard(x))
        found = stability(search, search.partition(3, rng, 5).labels, 3, rng)
        assert low <= found.mean <= high
        assert len(found.halves) == 20
        assert len(found.restarts) == 10
    tree = PartitionSearch(Method("ward"), blobs())
    assert stability(tree, tree.partition(3, rng).labels, 3, rng).restarts == ()


# -- the whole study -------------------------------------------------------------------------------


def test_the_number_of_clusters_is_found(wine) -> None:
    assert wine.k == 3
    assert wine.structure.significant
    assert wine.stability.mean > 0.8
    assert wine.verdict.groups == "distinct"
    assert not wine.limit_reached
    assert [trial.k for trial in wine.trials] == list(range(2, 11))
    scatters = [trial.within_ss for trial in wine.trials]
    assert scatters == sorted(scatters, reverse=True)
    assert scatters[0] < wine.total_ss
    best = max(wine.trials, key=lambda trial: trial.silhouette)
    assert best.k == 3


def test_numbers_agree_with_scikit_learn(wine) -> None:
    frame = pd.read_csv(sample("wine").path)
    x = standard(frame.drop(columns="cultivar").to_numpy(dtype=float))
    labels = wine.assignments.clusters
    assert wine.silhouette == pytest.approx(silhouette_score(x, labels), abs=1e-5)
    assert adjusted_rand_score(frame["cultivar"], labels) > 0.85


def test_clusters_are_described_in_the_units_of_the_table(wine) -> None:
    frame = pd.read_csv(sample("wine").path)
    frame["cluster"] = wine.assignments.clusters
    sizes = [cluster.size for cluster in wine.clusters]
    assert sizes == sorted(sizes, reverse=True)
    for cluster in wine.clusters:
        own = frame[frame["cluster"] == cluster.number]
        assert cluster.size == len(own)
        assert cluster.means["alcohol"] == pytest.approx(own["alcohol"].mean())
        z = (own["proline"].mean() - frame["proline"].mean()) / frame["proline"].std(ddof=0)
        assert cluster.standardized_means["proline"] == pytest.approx(z)


def test_the_model_gives_the_same_clusters(wine, tmp_path) -> None:
    sx.save(wine.model, tmp_path / "m.sx")
    back = sx.load(tmp_path / "m.sx")
    assert (back.predict(str(sample("wine").path)) == wine.assignments.clusters).all()
    away = back.transform(str(sample("wine").path))
    own = away[np.arange(178), wine.assignments.clusters]
    np.testing.assert_allclose(own, wine.assignments.distances)


def test_units_do_not_matter_unless_standardization_is_off() -> None:
    frame = pd.DataFrame(blobs(60), columns=["a", "b"])
    large = frame.assign(b=frame["b"] * 1e8)
    one, two = (run_clusters(sx.scan(f), k=3) for f in (frame, large))
    assert (one.assignments.clusters == two.assignments.clusters).all()
    assert any("standardized: distances" in text for text in one.messages)
    plain = run_clusters(sx.scan(large), k=3, standardize=False)
    assert any("not standardized, as requested" in text for text in plain.messages)
    assert (plain.assignments.clusters != one.assignments.clusters).any()  # b alone counts


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_three_blobs(method) -> None:
    found = run_clusters(sx.scan(blobs(60, apart=9.0)), method=method)
    assert found.k == 3
    assert found.structure.significant
    assert adjusted_rand_score(np.arange(60) % 3, found.assignments.clusters) == 1.0
    assert found.method == method


def test_mixed_columns_by_gower() -> None:
    rng = np.random.default_rng(1)
    kind = np.arange(120) % 2
    frame = pd.DataFrame(
        {
            "a": 6 * kind + rng.normal(size=120),
            "town": np.where(kind == 1, "north", "south"),
            "wet": kind == 0,
            "flat": 1.0,
        }
    )
    frame.loc[3, "a"] = None
    found = run_clusters(sx.scan(frame), method="kmedoids", metric="gower")
    assert found.k == 2
    assert adjusted_rand_score(kind, found.assignments.clusters) == 1.0
    assert not found.standardized
    assert any("gower distances do not" in text for text in found.messages)
    assert any("Constant, without effect: 'flat'" in text for text in found.messages)
    assert any("Missing values in 'a' (1)" in text for text in found.messages)
    north = next(g for g in found.clusters if g.levels["town"].get("north"))
    assert north.levels["town"] == {"north": 1.0, "south": 0.0}
    assert north.lifts == {"town": {"north": 2.0}}
    assert north.means["wet"] == 0.0


def test_the_same_seed_gives_the_same_study() -> None:
    rows = sx.scan(blobs(60, seed=4, apart=3.0))
    one, two = run_clusters(rows, k=3, seed=5), run_clusters(rows, k=3, seed=5)
    assert one.structure == two.structure
    assert one.stability == two.stability
    assert one.trials == two.trials
    assert (one.assignments.clusters == two.assignments.clusters).all()
    assert run_clusters(rows, k=3, seed=6).structure != one.structure


def test_large_tables_are_searched_by_samples() -> None:
    rng = np.random.default_rng(0)
    x = np.repeat(blobs(3, 4, apart=9.0), 8_000, axis=0) + rng.normal(size=(24_000, 4))
    found = run_clusters(sx.scan(x), k=3)
    assert found.structure.significant
    assert found.structure.rows == 400
    assert any("3,000 rows drawn at random" in text for text in found.messages)
    assert found.silhouette_metric == "sqeuclidean"
    assert len(found.assignments.clusters) == 24_000
    assert len(found.plotted.clusters) == 20_000


def test_a_given_number_of_clusters_is_tested_by_itself() -> None:
    found = run_clusters(sx.scan(blobs(90)), k=4)
    assert found.k == 4
    assert found.requested == 4
    assert "requested" in found.reason
    assert "3 have the greatest" in found.reason
    exact = run_clusters(sx.scan(blobs(90)), k=3)
    assert "no other number" in exact.reason


def test_outliers_are_no_group() -> None:
    rng = np.random.default_rng(3)
    x = np.vstack([rng.normal(size=(150, 3)), [[30.0, 30, 30], [-40, 10, 0]]])
    found = run_clusters(sx.scan(x), method="single", k=3)
    assert not found.structure.significant
    assert "outliers" in found.verdict.summary
    assert found.verdict.groups == "none"
    assert [cluster.outliers for cluster in found.clusters] == [False, True, True]


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (np.ones((10, 2)), {}, "every row is the same"),
        ([[0.0, 1.0], [1.0, 2.0]], {}, "too few"),
        (blobs(9), {"k": 1}, "whole table"),
        (blobs(9), {"k": 0}, "whole table"),
        (blobs(9), {"k": 9}, "too many for 9 rows"),
        (np.repeat(np.eye(3), 4, axis=0), {"k": 4}, "only 3 different rows"),
        (blobs(9), {"method": "wrad"}, "Did you mean 'ward'"),
        (blobs(9), {"metric": "manhatan", "method": "kmedoids"}, "Did you mean 'manhattan'"),
        (blobs(9), {"metric": "gower"}, "takes no metric"),
        (blobs(9), {"metric": "cosine", "method": "ward"}, "takes no metric"),
    ],
)
def test_what_cannot_be_clustered_is_refused(table, options, message) -> None:
    with pytest.raises(InputError, match=message):
        run_clusters(sx.scan(np.asarray(table)), **options)


def test_too_many_rows_for_all_pairs() -> None:
    x = np.random.default_rng(0).normal(size=(20_001, 2))
    with pytest.raises(InputError, match="too many for average"):
        run_clusters(sx.scan(x), method="average")


def test_a_table_without_columns() -> None:
    frame = pd.DataFrame({"name": [f"somebody {i}" for i in range(80)]})
    with pytest.raises(InputError, match="no feature column"):
        run_clusters(sx.scan(frame))


def test_three_rows_and_two_kinds_of_rows() -> None:
    tiny = run_clusters(sx.scan(np.array([[0.0, 0], [0, 1], [9, 9]])))
    assert tiny.k == 2
    twice = run_clusters(sx.scan(np.repeat(np.eye(2), 5, axis=0)))
    assert twice.k == 2
    assert twice.silhouette == pytest.approx(1.0)


# -- one verdict -----------------------------------------------------------------------------------


def verdict(silhouette: float, expected: float, p: float, rand: float) -> Verdict:
    drawn = Reference("unimodal", (expected - 0.01, expected, expected + 0.01), p)
    test = Structure(p <= 0.05, p, silhouette, 400, (drawn,), "")
    return verdict_on(test, Stability((rand,), (), rand, ""), 3)


@pytest.mark.parametrize(
    ("numbers", "groups", "words"),
    [
        ((0.58, 0.21, 0.025, 1.0), "distinct", "well separated"),
        ((0.13, 0.09, 0.025, 0.95), "overlapping", "many rows lie between"),
        ((0.20, 0.10, 0.025, 0.95), "overlapping", "many rows lie between"),  # a low silhouette
        ((0.40, 0.37, 0.025, 0.95), "overlapping", "not by much"),  # a small effect
        ((0.58, 0.21, 0.025, 0.45), "none", "not stable"),
        ((0.01, 0.00, 0.025, 0.95), "none", "hardly better"),
        ((0.01, -0.05, 0.025, 0.3), "none", "not stable"),
        ((0.22, 0.22, 0.400, 0.95), "none", "comes from its shape"),
        ((0.22, 0.22, 0.400, 0.30), "none", "and not stable"),
        ((0.58, 0.21, 0.025, float("nan")), "none", "too few different rows"),
        ((0.22, 0.22, 0.400, float("nan")), "none", "no better"),
        ((-1.0, 0.22, 0.400, 0.95), "none", "outliers"),
    ],
)
def test_the_verdict_needs_separation_and_stability(numbers, groups, words) -> None:
    found = verdict(*numbers)
    assert found.groups == groups
    assert found.summary.startswith(found.headline)
    assert words in found.summary
    assert "nan" not in found.summary
    if groups != "none":
        assert found.separated
        assert found.stable


def test_no_verdict_against_groups_at_the_limit_of_the_search() -> None:
    drawn = Reference("unimodal", (0.2, 0.21, 0.22), 0.025)
    test = Structure(True, 0.025, 0.5, 400, (drawn,), "")
    for rand, groups in ((0.6, "undecided"), (0.9, "distinct")):
        again = Stability((rand,), (), rand, "")
        found = verdict_on(test, again, 10, limit_reached=True)
        assert found.groups == groups
        assert found.summary.startswith(found.headline)
    not_separated = replace(test, significant=False, p_value=0.4)
    assert verdict_on(not_separated, again, 10, limit_reached=True).groups == "none"


def test_a_slight_pattern_in_many_rows_is_no_group() -> None:
    """Two clouds half a standard deviation apart: significant or not, nothing to call a group."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 8)) + 0.5 * (np.arange(3000) % 2)[:, None]
    found = run_clusters(sx.scan(x))
    assert found.verdict.groups == "none"
    assert found.verdict.summary.startswith("No distinct groups")


def test_a_cloud_that_is_cut_alike_every_time_is_no_group() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(600, 2)) * [6.0, 1.0]
    found = run_clusters(sx.scan(x), k=2, standardize=False)
    assert found.stability.mean > 0.9
    assert found.verdict.stable
    assert found.verdict.groups == "none"


def test_the_limit_of_the_search_is_reported_and_can_be_raised() -> None:
    rng = np.random.default_rng(2)
    x = 9.0 * np.array([[i % 4, i // 4] for i in range(12)])[np.arange(360) % 12]
    x = x + rng.normal(size=x.shape)
    found = run_clusters(sx.scan(x))
    assert found.k == found.max_clusters == 10
    assert found.limit_reached
    assert "limit of the search" in found.reason
    assert "`max_clusters=20`" in found.reason
    if not found.verdict.stable:  # groups there are, but more than were tried
        assert found.verdict.groups == "undecided"
        assert "largest number that was tried" in found.verdict.summary
    more = run_clusters(sx.scan(x), max_clusters=20)
    assert more.k == 12
    assert not more.limit_reached
    assert "limit" not in more.reason
    assert not run_clusters(sx.scan(x), k=10).limit_reached  # requested, not found
    with pytest.raises(InputError, match="nothing to try"):
        run_clusters(sx.scan(x), max_clusters=1)


# -- levels ----------------------------------------------------------------------------------------


def test_lift_is_the_proportion_in_the_cluster_over_that_in_the_table() -> None:
    rng = np.random.default_rng(3)
    kind = np.arange(300) % 3
    town = np.where(rng.random(300) < 0.7, np.array(["a", "b", "c"])[kind], "d")
    plan = rng.choice(["x", "y"], 300)  # nothing to do with the groups
    frame = pd.DataFrame({"u": 9.0 * kind, "v": 9.0 * (kind == 1), "town": town, "plan": plan})
    frame[["u", "v"]] += rng.normal(size=(300, 2))
    frame.loc[kind == 2, "town"] = frame["town"].where(rng.random(300) < 0.5)
    found = run_clusters(sx.scan(frame), k=3)
    labels = found.assignments.clusters
    for cluster in found.clusters:
        own = frame[labels == cluster.number]
        for level, lift in cluster.lifts["town"].items():
            column = frame["town"].fillna("(missing)") == level
            assert lift == pytest.approx(column[own.index].mean() / column.mean())
            assert lift >= 1.2
        level = next(iter(cluster.lifts["town"]))  # the strongest first
        assert level in ("a", "b", "c", "(missing)")
        assert "plan" not in cluster.lifts
        proportions = own["town"].value_counts(normalize=True, dropna=False)
        assert cluster.levels["town"]["d"] == pytest.approx(proportions.get("d", 0.0))
    assert sum("(missing)" in cluster.lifts["town"] for cluster in found.clusters) == 1


def test_many_or_rare_levels_do_not_outweigh_numeric_columns() -> None:
    rng = np.random.default_rng(6)
    kind = np.arange(400) % 4
    frame = pd.DataFrame(
        {
            "a": 6.0 * (kind % 2) + rng.normal(size=400),
            "b": 6.0 * (kind // 2) + rng.normal(size=400),
            "code": rng.choice([f"c{i}" for i in range(12)], 400),
            "rare": np.where(rng.random(400) < 0.03, "yes", "no"),
        }
    )
    found = run_clusters(sx.scan(frame), k=4)
    assert adjusted_rand_score(kind, found.assignments.clusters) > 0.95
    assert any("together count no more than a numeric" in text for text in found.messages)
    model = found.model
    z = model.standardizer_.transform(prepare(sx.scan(frame)).rows.collect().dense())
    levels = [j for j, name in enumerate(model.encoding_.names) if name.startswith("code")]
    assert len(levels) == 11
    assert z[:, levels].var(axis=0).sum() == pytest.approx(1.0)
    assert np.ptp(z[:, model.encoding_.names.index("rare=yes")]) == pytest.approx(2.0)


# -- copies and identifiers ------------------------------------------------------------------------


def test_copies_of_rows_are_no_groups() -> None:
    x = np.repeat(np.random.default_rng(4).normal(size=(60, 4)), 20, axis=0)
    found = run_clusters(sx.scan(x))
    assert found.verdict.groups == "none"
    assert found.structure.rows == 60
    assert len(found.assignments.clusters) == 1200
    assert any("1,140 of 1,200 rows are exact copies" in text for text in found.messages)


def test_repeated_answers_are_no_copies() -> None:
    answers = np.random.default_rng(5).integers(1, 4, size=(400, 3)).astype(float)
    found = run_clusters(sx.scan(answers), k=3)
    assert found.structure.rows == 400
    assert not any("copies" in text for text in found.messages)


def test_a_column_in_two_units_is_named() -> None:
    frame = pd.DataFrame(blobs(90, 3), columns=["a", "b", "c"])
    frame["a_feet"] = 3.28 * frame["a"] + 1
    found = run_clusters(sx.scan(frame), k=3)
    assert sum("'a' and 'a_feet'" in text for text in found.messages) == 1
    alone = run_clusters(sx.scan(frame.drop(columns="a_feet")), k=3)
    assert not any("counted twice" in text for text in alone.messages)


def test_identifiers_are_not_compared_unless_requested() -> None:
    frame = pd.DataFrame(blobs(90), columns=["a", "b"])
    frame.insert(0, "Unnamed: 0", np.arange(90))
    frame["name"] = [f"somebody {i}" for i in range(90)]
    found = run_clusters(sx.scan(frame))
    assert [column.name for column in found.columns] == ["a", "b"]
    assert sum("left out" in text for text in found.messages) == 2
    with_it = run_clusters(sx.scan(frame, kinds={"Unnamed: 0": "numeric"}))
    assert [column.name for column in with_it.columns] == ["Unnamed: 0", "a", "b"]


# -- work ------------------------------------------------------------------------------------------


def test_nothing_is_computed_twice(monkeypatch) -> None:
    """One set of distances for each table, and one run of the model from what was found."""
    from separatrix.cluster import kmeans
    from separatrix.study.cluster import search

    pairs, runs = [], []
    whole, lloyd = search.pair_distances, kmeans.lloyd
    monkeypatch.setattr(search, "pair_distances", lambda *a: (pairs.append(len(a[0])), whole(*a)))

    def counted(*args, **options):
        runs.append(lloyd(*args, **options))
        return runs[-1]

    monkeypatch.setattr(kmeans, "lloyd", counted)
    found = run_clusters(sx.scan(blobs(300)))
    drawn = sum(len(reference.silhouettes) for reference in found.structure.references)
    assert len(pairs) == 2 + drawn  # the search, the test, and every table without groups
    assert len(runs) == 1
    assert runs[0].iterations <= 3


def test_samples_have_a_budget_of_numbers() -> None:
    different = DifferentRows(np.arange(50_000), 50_000, 0)
    rng = np.random.default_rng(0)
    for columns, searched, tested in ((10, 3000, 400), (200, 1500, 200), (5000, 1000, 150)):
        found = row_samples(different, columns, 10, rng)
        assert (len(found.searched), len(found.tested)) == (searched, tested)
    assert len(row_samples(different, 10, 500, rng).tested) == 4000  # eight rows a cluster


def test_rare_levels_are_one_level_where_all_would_be_too_many_columns(monkeypatch) -> None:
    """Every level that stays is a column of a dense table."""
    rng = np.random.default_rng(0)
    far = np.arange(300) % 2
    shop = np.where(rng.random(300) < 0.5, "s1", "s2").astype(object)
    shop[:100] = [f"single {i}" for i in range(100)]
    table = pl.DataFrame({"x": rng.normal(size=300) + 9.0 * far, "shop": shop.tolist()})
    monkeypatch.setattr(Effort, "columns", lambda *_: 30)
    study = run_clusters(sx.scan(table, kinds={"shop": "discrete"}), k=2)
    assert len(study.model.encoding_.terms) <= 30
    assert any("are one level 'other levels', as 300 rows" in m for m in study.messages)
    assert sum(cluster.size for cluster in study.clusters) == 300
    new = table.head(2).with_columns(shop=pl.lit("never seen"))
    assert len(study.model.predict(sx.scan(new, kinds={"shop": "discrete"}))) == 2
