"""Rare levels as one level: which are pooled, and that a pooled column is read like any other."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix import scan
from separatrix.export.export import json_text
from separatrix.export.onnx.export import onnx_file
from separatrix.export.program import program_of
from separatrix.rows.rare_levels import OTHERS, pool_rare_levels
from tests.export.evaluator import evaluate


def table(seed=0, n=900):
    """A column whose levels become rarer: about n/2, n/4, … rows each, and sixty single ones."""
    rng = np.random.default_rng(seed)
    code = np.minimum(rng.geometric(0.12, n), 40)
    shop = np.array([f"s{c:02d}" for c in code], dtype=object)
    shop[:60] = [f"single {i}" for i in range(60)]
    x = rng.normal(size=n)
    y = x + 0.1 * code + rng.normal(size=n)
    return pd.DataFrame({"x": x, "shop": shop, "color": rng.choice(list("abc"), n), "y": y})


def pooled(frame, most=30, **options):
    return pool_rare_levels(scan(frame, target="y", **options).read(), most, "there is a limit")


def counts(rows, name="shop"):
    found = zip(rows.block.terms, rows.block.rmatvec(rows.block.weights), strict=True)
    return {t.level: w for t, w in found if t.column == name and t.level is not None}


def test_the_most_frequent_levels_stay_and_every_row_is_counted():
    frame = table()
    rows, known = pooled(frame), frame["shop"].value_counts()
    assert len(rows.block.terms) <= 30
    own = counts(rows)
    frequent = {level: w for level, w in own.items() if level != OTHERS}
    assert frequent == {level: known[level] for level in frequent}
    assert min(frequent.values()) > known.drop(list(frequent)).max()
    assert own[OTHERS] == len(frame) - sum(frequent.values())
    assert counts(rows, "color") == frame["color"].value_counts().to_dict()  # few levels: all stay
    assert f"{len(frequent)} in at least {min(frequent.values()):.0f} rows" in rows.notes[-1]
    assert "override" in rows.notes[-1]


def test_tables_within_the_limit_are_left_alone():
    rows = scan(table(), target="y").read()
    assert pool_rare_levels(rows, len(rows.block.terms), "") is rows


def test_neither_order_nor_weights_nor_names_matter():
    frame = table()
    rows = pooled(frame)
    again = pooled(frame.sample(frac=1.0, random_state=1))
    assert counts(again) == counts(rows)
    weighted = frame.groupby(list(frame.columns), as_index=False).size()
    assert counts(pooled(weighted, weight="size")) == counts(rows)
    called = frame.replace({"shop": {"s01": OTHERS}})
    assert counts(pooled(called))[f"({OTHERS})"] == counts(rows)[OTHERS]


def test_a_column_without_a_frequent_level_is_left_out():
    frame = table()
    frame["who"] = [f"p{i // 3}" for i in range(len(frame))]
    rows = pooled(frame, kinds={"who": "discrete"})
    assert "who" not in rows.schema.names
    assert any("'who' is left out" in note for note in rows.notes)
    assert any("'who' is left out" in note for note in rows.left_out)
    assert len(rows.block.terms) <= 30


@pytest.mark.parametrize("missing", ["mean", "indicator", "drop"])
def test_models_of_pooled_columns_predict_levels_of_any_kind(missing, tmp_path):
    frame = table()
    frame.loc[::17, "shop"] = None
    rows = pooled(frame, missing=missing)
    model = sx.Ridge(alpha=1.0).fit(rows)
    assert model.encoding_.reference_levels["shop"] == OTHERS
    new = frame.drop(columns="y").head(200)
    new.loc[1, "shop"], new.loc[2, "shop"] = "single 3", "never seen"
    same = new.copy()
    same.loc[1, "shop"] = same.loc[2, "shop"] = OTHERS
    found = model.predict(new if missing != "drop" else new.dropna())
    expected = model.predict(same if missing != "drop" else same.dropna())
    np.testing.assert_array_equal(found, expected)
    sx.save(model, tmp_path / "m.sx")
    np.testing.assert_array_equal(
        sx.load(tmp_path / "m.sx").predict(new if missing != "drop" else new.dropna()), found
    )
    # the same model by hand: rare levels renamed before the table is read
    frequent = [level for level in counts(rows) if level != OTHERS]
    renamed = frame.assign(
        shop=frame["shop"].where(frame["shop"].isin(frequent) | frame["shop"].isna(), OTHERS)
    )
    plain = sx.Ridge(alpha=1.0).fit(scan(renamed, target="y", missing=missing))
    assert plain.certificate_.primal == pytest.approx(model.certificate_.primal, rel=0.05)


def test_rows_without_levels_of_their_own_match_other_schemas():
    frame = table()
    rows = pooled(frame)
    model = sx.LinearRegression().fit(rows)
    other = scan(frame.assign(shop="new shop"), target="y").read()
    expected = model.predict(frame.assign(shop=OTHERS).drop(columns="y"))
    np.testing.assert_allclose(model.predict(other), expected)


@pytest.mark.parametrize("name", ["Ridge", "NaiveBayes"])
def test_exports_know_pooled_levels(name):
    frame = table()
    if name == "NaiveBayes":
        frame["y"] = np.where(frame["y"] > frame["y"].mean(), "high", "low")
    model = getattr(sx, name)().fit(pooled(frame))
    new = frame.drop(columns="y").head(100)
    new.loc[[1, 2, 3], "shop"] = ["single 3", "never seen", None]
    document = json.loads(json_text(program_of(model)))
    shop = next(c for c in document["columns"] if c["name"] == "shop")
    assert shop["pooled"] == OTHERS
    assert OTHERS not in shop["levels"]
    found = [next(iter(evaluate(document, row).values())) for row in new.to_dict("records")]
    if name == "Ridge":
        np.testing.assert_allclose(np.array(found, dtype=float), model.predict(new))
    else:
        assert found == model.predict(new).tolist()
    agreement = onnx_file(model, rows=new).agreement
    assert agreement.holds, str(agreement)
    assert agreement.rows == len(new)


def test_a_stream_pools_the_levels_that_memory_pools(tmp_path, monkeypatch) -> None:
    """The same levels are kept, however the rows are read; later ones are among the others."""
    rng = np.random.default_rng(5)
    n = 4_000
    code = np.minimum(rng.geometric(0.01, n), 900)
    frame = pd.DataFrame({"x": rng.normal(size=n), "place": [f"p{c}" for c in code]})
    frame["y"] = frame["x"] + 0.01 * code + rng.normal(size=n)
    frame["label"] = np.where(frame["y"] > frame["y"].median(), "high", "low")
    place = tmp_path / "rows.parquet"
    frame.to_parquet(place)
    monkeypatch.setattr("separatrix.study.options.Effort.columns", lambda *_, **__: 60)
    for target, other, model in (("y", "label", "ridge"), ("label", "y", "lda")):
        studies = []
        for megabytes in ("1000", "0.001"):
            monkeypatch.setenv("SEPARATRIX_MEMORY", megabytes)
            rows = sx.scan(str(place), target=target, kinds={other: "ignore"})
            studies.append(sx.run_study(rows, models=[model], reference=False, verbose=False))
        stream = studies[1]
        levels = [
            next(c for c in s.model.encoding_.schema.columns if c.name == "place") for s in studies
        ]
        assert levels[0].levels == levels[1].levels
        assert levels[0].pooled == levels[1].pooled == "other levels"
        assert any("'place' has" in text for text in stream.messages)
        new = pd.DataFrame({"x": [0.0, 0.0], "place": ["p1", "never seen"]})
        assert len(stream.model.predict(new)) == 2
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    rows = sx.scan(str(place), kinds={"y": "ignore", "label": "ignore"})
    study = sx.run_clusters(rows, k=2, verbose=False)
    assert any("'place' has" in text for text in study.messages)
