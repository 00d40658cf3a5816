"""Columns that only tell rows apart are left out, with a note, unless wanted for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from separatrix import InputError, scan

N = 40


def table(**more) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({**more, "x": rng.normal(size=N), "y": rng.normal(size=N)})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", np.arange(N) * 7 + 3),
        ("customer_id", np.random.default_rng(1).permutation(10_000)[:N]),
        ("orderId", np.arange(N).astype(float)),
        ("Unnamed: 0", np.arange(N)),
        ("Unnamed: 0", np.arange(N) % 20),
        ("__index_level_0__", np.arange(N) % 20),
        ("index", np.arange(N)[::-1]),
        ("row", np.arange(1, N + 1)),
        ("name", [f"person {i}" for i in range(N)]),
    ],
)
def test_identifiers_are_left_out_with_a_note(name, values) -> None:
    rows = scan(table(**{name: values}), target="y")
    assert rows.schema.names == ("x",)
    assert any(repr(name) in note and "left out" in note for note in rows.notes)
    kind = "discrete" if name == "name" else "numeric"
    wanted = scan(table(**{name: values}), target="y", kinds={name: kind})
    assert wanted.schema.names == (name, "x")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patient_id", np.arange(N) // 4),
        ("id", np.random.default_rng(0).normal(size=N)),
        ("age", np.arange(N)),
        ("number", np.arange(N) * 3),
        ("town", ["a", "b"] * (N // 2)),
    ],
)
def test_other_columns_stay(name, values) -> None:
    assert scan(table(**{name: values}), target="y").schema.names == (name, "x")


def test_an_identifier_is_named() -> None:
    rows = scan(table(code=np.arange(N) // 2, spare=1.0), target="y", id="code")
    assert rows.schema.names == ("spare", "x")
    rows = scan(table(code=np.arange(N) // 2, spare=1.0), target="y", id=["code", "spare"])
    assert rows.schema.names == ("x",)
    with pytest.raises(InputError, match="no column 'cod'"):
        scan(table(code=1.0), target="y", id="cod")
    with pytest.raises(InputError, match="target or the weight"):
        scan(table(), target="y", id="y")


def test_new_rows_need_no_identifier() -> None:
    import separatrix as sx

    frame = table(id=np.arange(N))
    model = sx.LinearRegression().fit(scan(frame, target="y"))
    np.testing.assert_allclose(model.predict(frame[["x"]]), model.predict(frame))


def test_columns_left_out_are_apart_from_other_notes() -> None:
    days = np.datetime64("2024-01-01") + np.arange(N)
    rows = scan(table(id=np.arange(N), day=days), target="y")
    assert len(rows.notes) == 2
    for found in (rows, rows.read(), rows.under(rows.schema, ())):
        assert len(found.left_out) == 1
        assert found.left_out[0].startswith("Column 'id' is left out: ")


def test_a_table_of_identifiers_alone_says_why() -> None:
    with pytest.raises(InputError, match=r"'id' is left out.*kinds=") as refused:
        scan({"id": range(20), "y": np.arange(20.0) ** 2}, target="y")
    assert "no feature column" in str(refused.value)


def test_texts_that_identify_rows_name_them_and_numbers_do_not() -> None:
    n = 12
    names = [f"town {i}" for i in range(n)]
    table = {"town": names, "x": list(range(n)), "y": [float(i % 3) for i in range(n)]}
    rows = scan(table, target="y")
    assert rows.row_names() == dict(enumerate(names, 1))
    given = scan({**table, "sign": [f"s{i % 4}" for i in range(n)]}, target="y", id="sign")
    assert given.row_names()[6] == "s1"
    numbered = {"id": list(range(100, 100 + n)), "x": table["x"], "y": table["y"]}
    assert scan(numbered, target="y", id="id").row_names() == {}
    assert scan(numbered, target="y").row_names() == {}
