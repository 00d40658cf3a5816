"""Whatever a table is stored in, the same rows come out of it."""

from __future__ import annotations

import io
import subprocess
import sys

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import separatrix
from separatrix import InputError, Moments, scan
from separatrix.rows.parts import Parts
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Kind, Term
from separatrix.statistics.moments import Grouped, prepare

from .tables import every_form, mixed

FORMS = [
    *("pandas", "polars", "lazy", "arrow", "dict", "csv", "gzip", "semicolon", "parquet"),
    *("csv glob", "parquet list", "dask"),
]


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    return every_form(mixed(), tmp_path_factory.mktemp("forms"))


@pytest.fixture(scope="module")
def design():
    """The design by pandas alone: reference town Pisa, means for missing values."""
    frame = mixed().dropna(subset="price")
    return pd.DataFrame(
        {
            "garden": frame["garden"].astype(float),
            "height": frame["height"].fillna(frame["height"].mean()),
            "rooms": frame["rooms"].astype(float),
            "town=Ghent": (frame["town"] == "Ghent").astype(float),
            "town=Lund": (frame["town"] == "Lund").astype(float),
            "price": frame["price"],
        }
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block_rows", [64, 65536])
def test_every_form_gives_the_same_moments(forms, design, form, block_rows):
    rows = scan(forms[form], target="price", block_rows=block_rows)
    ready = prepare(rows)
    assert sorted(ready.encoding.names) == list(design.columns[:-1])
    order = [*ready.encoding.names, "price"]
    z = design[order].to_numpy()
    np.testing.assert_allclose(ready.moments.mean, z.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        ready.moments.scatter, np.cov(z.T, bias=True) * len(z), rtol=1e-9, atol=1e-9
    )
    assert ready.moments.count == len(design)
    assert rows.dropped == 1
    again = ready.rows.reduce(Moments())
    np.testing.assert_allclose(again.scatter, ready.moments.scatter, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_parts(forms, form):
    labelled = scan(forms[form], target="price", block_rows=50).with_parts(Parts(seed=4))
    counts = {k: m.count for k, m in labelled.reduce(Grouped(Moments())).parts.items()}
    plain = scan(forms["pandas"], target="price").with_parts(Parts(seed=4)).collect().parts
    assert counts == dict(zip(*np.unique(plain, return_counts=True), strict=True))


def test_kinds_are_inferred_and_overridden():
    frame = mixed()
    schema = scan(frame, target="price").schema
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {
        "height": Kind.NUMERIC,
        "rooms": Kind.NUMERIC,
        "town": Kind.DISCRETE,
        "garden": Kind.BOOLEAN,
    }
    rows = scan(frame, target="rooms", kinds={"rooms": "discrete", "height": "ignore"})
    assert rows.schema.targets[0].kind is Kind.DISCRETE
    assert "height" not in rows.schema.names
    targets = prepare(rows).moments.targets
    assert targets.items == tuple(Term("rooms", level=str(k)) for k in range(1, 9))


def test_leading_zeros_belong_to_a_level(tmp_path):
    (tmp_path / "t.csv").write_text("zip,y\n01234,1\n1234,2\n01234,3\n")
    block = scan(tmp_path / "t.csv", target="y", kinds={"zip": "discrete"}).collect()
    assert {term.level for term in block.terms} == {"01234", "1234"}


@pytest.mark.parametrize("target", ["town", "garden"])
def test_text_and_truth_targets_are_classes(target):
    ready = prepare(scan(mixed(), target=target))
    met = sorted(mixed()[target].dropna().astype(str).unique())
    assert [term.level for term in ready.moments.targets] == met
    assert ready.moments.y_mean.sum() == pytest.approx(1.0)


def test_several_targets_and_weights():
    frame = mixed().fillna({"price": 0.0})
    frame["w"] = np.arange(len(frame)) % 3
    rows = scan(frame, target=["price", "rooms"], weight="w")
    m = prepare(rows).moments
    assert [str(t) for t in m.targets] == ["price", "rooms"]
    assert m.weight == frame["w"].sum()
    np.testing.assert_allclose(m.y_mean[1], np.average(frame["rooms"], weights=frame["w"]))


def test_arrays_stay_arrays_and_missing_values_make_a_table():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    rows = scan(x, target=y)
    assert isinstance(rows, ArrayRows)
    x[4, 1] = np.nan
    filled = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    ready = prepare(scan(x, target=y))
    np.testing.assert_allclose(ready.moments.x_mean, filled.mean(axis=0), rtol=1e-12)
    assert ready.encoding.names == ("x0", "x1", "x2")


def test_sparse_rows_with_labels():
    x = sparse.random_array((60, 9), density=0.2, rng=np.random.default_rng(0), format="csr")
    labels = np.array(["a", "b", "c"])[np.arange(60) % 3]
    rows = scan(x, target=labels)
    assert [t.level for t in rows.collect().targets] == ["a", "b", "c"]
    np.testing.assert_allclose(rows.reduce(Moments()).x_mean, x.toarray().mean(axis=0))


def test_labels_beside_a_frame():
    frame = mixed()[["rooms", "garden"]]
    rows = scan(frame, target=mixed()["town"])
    assert rows.schema.targets[0].name == "town"


def test_dask_arrays_equal_memory():
    rng = np.random.default_rng(2)
    x, y, w = rng.normal(size=(90, 4)), rng.normal(size=(90, 2)), rng.random(90)
    lazy = scan(
        da.from_array(x, chunks=(40, 2)),
        target=da.from_array(y, chunks=(33, 1)),
        weight=da.from_array(w, chunks=90),
    )
    a, b = lazy.reduce(Moments()), scan(x, target=y, weight=w).reduce(Moments())
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-10)
    assert a.targets.items == b.targets.items


def test_dates_are_days_with_a_note(tmp_path):
    days = pd.date_range("2020-01-01", periods=6, freq="D")
    frame = pd.DataFrame({"when": days, "y": range(6)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    for source in (frame, tmp_path / "d.csv"):
        rows = scan(source, target="y")
        np.testing.assert_allclose(rows.collect().x[:, 0], 18262 + np.arange(6))
        assert "'when'" in rows.notes[0]
        assert "days since 1970-01-01" in rows.notes[0]


def test_names_of_rows_are_left_out_with_a_note():
    frame = pd.DataFrame({"id": [f"row {i}" for i in range(300)], "x": range(300), "y": range(300)})
    rows = scan(frame, target="y")
    assert rows.schema.names == ("x",)
    assert "'id'" in rows.notes[0]
    assert "kinds={'id': 'discrete'}" in rows.notes[0]
    assert scan(frame, target="y", kinds={"id": "discrete"}).schema.names == ("id", "x")


def test_many_levels_stay_sparse():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"code": rng.integers(0, 900, 5000), "x": rng.normal(size=5000), "y": rng.normal(size=5000)}
    )
    rows = scan(frame, target="y", kinds={"code": "discrete"}, block_rows=2000)
    assert all(sparse.issparse(block.x) for block in rows.blocks())
    ready = prepare(rows)
    dummies = pd.get_dummies(frame["code"].astype(str)).astype(float)
    means = dict(zip(ready.encoding.names, ready.moments.x_mean, strict=True))
    levels = [c for c in dummies if f"code={c}" in means]
    assert len(levels) == dummies.shape[1] - 1
    np.testing.assert_allclose([means[f"code={c}"] for c in levels], dummies[levels].mean())


def test_whole_numbers_first_decimals_later(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.rows.sources.csv.BLOCK_BYTES", 64)
    lines = [f"{i},{i % 5},1" for i in range(50)] + ["2.5,,0.5"]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    block = scan(tmp_path / "t.csv", target="y").collect()
    assert block.x[-1, 0] == 2.5
    assert block.y[-1, 0] == 0.5


def test_quoted_separators_and_line_breaks(tmp_path):
    (tmp_path / "t.csv").write_text('t,y\n"a, b",1\n"c\nd",2\n"a, b",3\n')
    block = scan(tmp_path / "t.csv", target="y").collect()
    assert {term.level for term in block.terms} == {"a, b", "c\nd"}


def test_standard_input_can_be_read_twice(monkeypatch):
    text = mixed().to_csv(index=False).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    rows = scan("-", target="price")
    first, second = rows.reduce(Moments()), rows.reduce(Moments())
    assert first.count == second.count == 399


def test_import_is_light():
    code = (
        "import sys, separatrix; from separatrix import scan\n"
        "heavy = {'sklearn', 'numba', 'matplotlib', 'pyarrow', 'dask'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_scan_refuses_what_is_no_table():
    with pytest.raises(InputError, match="not a table"):
        scan(object(), target="y")
    with pytest.raises(InputError, match="Rows already"):
        scan(separatrix.scan(mixed(), target="price"), target="price")


def test_categories_that_do_not_occur_are_no_levels():
    town = pd.Categorical(["a", "b", "a"], categories=["a", "b", "never"])
    block = scan(pd.DataFrame({"t": town, "y": [1, 2, 3]}), target="y").collect()
    assert [term.level for term in block.terms] == ["a", "b"]
