"""New rows are matched by name, in any order; what cannot be matched is named."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from separatrix import InputError, Moments, scan
from separatrix.messages import SeparatrixWarning
from separatrix.rows.scan import rows_like
from separatrix.statistics.moments import prepare

from .tables import mixed


@pytest.fixture
def ready():
    return prepare(scan(mixed(), target="price"))


def design(ready, source):
    return ready.encoding.apply(rows_like(source, ready.encoding.schema).collect()).x


def test_reordered_extra_and_absent_columns(ready, tmp_path):
    frame = mixed().drop(columns="price")
    mixed().to_csv(tmp_path / "new.csv", index=False)
    shuffled = frame[["garden", "town", "height", "rooms"]].assign(extra=1)
    expected = design(ready, frame)
    assert expected.shape == (400, 5)
    rows = rows_like(shuffled, ready.encoding.schema)
    assert rows.ignored == ("extra",)
    for source in (shuffled, frame.to_dict("list"), tmp_path / "new.csv", scan(frame)):
        np.testing.assert_allclose(design(ready, source), expected, rtol=1e-12)
    np.testing.assert_allclose(design(ready, scan(frame).read()), expected, rtol=1e-12)
    with pytest.raises(InputError, match=r"no column 'rooms'.*Did you mean 'room'"):
        rows_like(frame.rename(columns={"rooms": "room"}), ready.encoding.schema)


def test_rows_without_a_target_are_predicted_all_the_same(ready):
    frame = mixed()
    frame["price"] = np.nan
    assert design(ready, frame).shape[0] == len(frame)
    dropping = prepare(scan(mixed(), target="price", missing="drop"))
    assert design(dropping, frame).shape[0] == len(frame)
    stored = rows_like(mixed(), ready.encoding.schema, target=True).collect()
    assert stored.y.shape == (399, 1)


def test_unknown_levels_are_named_where_they_are_refused(tmp_path):
    ready = prepare(scan(mixed(), target="price", unseen="error"))
    frame = mixed().drop(columns="price")
    frame.loc[17, "town"] = "Oslo"
    frame.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(InputError) as fault:
        design(ready, tmp_path / "new.csv")
    for word in ("new.csv", "row 18", "'town'", "'Oslo'", "'Ghent'", "unseen='missing'"):
        assert word in str(fault.value)
    with pytest.raises(InputError, match=r"row 18.*'Oslo'"):
        design(ready, scan(frame))


def test_unknown_levels_may_count_as_zeros():
    ready = prepare(scan(mixed(), target="price", unseen="zeros"))
    frame = mixed().drop(columns="price").head(2).assign(town=["Oslo", "Lund"])
    for source in (frame, scan(frame)):
        with pytest.warns(SeparatrixWarning, match="SEP005"):
            x = design(ready, source)
        assert x[:, 2:4].tolist() == [[0, 0], [0, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design(ready, mixed())


@pytest.mark.parametrize("missing", ["mean", "drop", "indicator", "regress"])
def test_unknown_levels_are_imputed_like_missing_values(missing, tmp_path):
    ready = prepare(scan(mixed(), target="price", missing=missing))
    assert ready.encoding.schema.unseen == "missing"
    frame = mixed().drop(columns="price").head(40)
    new = frame.assign(town=["Oslo"] * 3 + ["Bern"] + list(frame["town"][4:]))
    empty = frame.assign(town=[None] * 4 + list(frame["town"][4:]))
    expected = design(ready, empty)
    new.to_csv(tmp_path / "new.csv", index=False)
    for source in (new, tmp_path / "new.csv", scan(new), scan(new).read()):
        with pytest.warns(SeparatrixWarning) as caught:
            x = design(ready, source)
        np.testing.assert_allclose(x, expected, rtol=1e-12)
        assert [str(w.message) for w in caught] == [
            "SEP005 column 'town': 'Oslo' (3 rows), 'Bern' (1 row) not seen in training; treated "
            "as missing."
        ]


def test_unknown_levels_are_counted_over_all_blocks_and_the_rarest_summed_up(tmp_path):
    ready = prepare(scan(mixed(), target="price"))
    n = 200_000
    towns = np.array(["Ghent", *(f"T{i}" for i in range(9))])[np.arange(n) % 10]
    towns[:20] = "T0"
    frame = mixed().drop(columns="price").iloc[np.zeros(n, dtype=int)].assign(town=towns)
    frame.to_csv(tmp_path / "new.csv", index=False)
    rows = rows_like(tmp_path / "new.csv", ready.encoding.schema)
    with pytest.warns(SeparatrixWarning) as caught:
        assert sum(1 for _ in rows.blocks()) > 1
    (text,) = [str(w.message) for w in caught]
    assert "'T0' (20,018 rows)" in text
    assert "and 4 more levels not seen" in text
    with pytest.warns(SeparatrixWarning) as caught:
        rows.reduce(Moments())  # on threads
    assert [str(w.message) for w in caught] == [text]


def test_the_policy_can_be_another_one_for_new_rows(ready):
    frame = mixed().drop(columns="price").head(2).assign(town=["Oslo", "Lund"])
    with pytest.raises(InputError, match="'Oslo'"):
        rows_like(frame, ready.encoding.schema, unseen="error").collect()


def test_a_level_only_of_the_left_out_rows_is_no_unknown_level():
    frame = mixed(60)
    frame.loc[50, "town"] = "Oslo"
    table = scan(frame, target="price").read()
    there = table.row_ids == 51
    ready = prepare(table.take(~there))
    assert "town=Oslo" not in ready.encoding.names
    x = design(ready, table.take(there))
    assert x[0, 2:4].tolist() == [0, 0]


def test_ties_for_the_reference_go_to_the_first_name():
    frame = pd.DataFrame({"t": ["b", "a", "c", "c", "b", "a"], "y": range(6)})
    encoding = prepare(scan(frame, target="y")).encoding
    assert encoding.reference_levels == {"t": "a"}
    assert encoding.names == ("t=b", "t=c")


def test_everything_travels_between_processes(ready):
    rows = scan(mixed(), target="price")
    copy = pickle.loads(pickle.dumps((rows, ready)))
    np.testing.assert_array_equal(copy[1].moments.scatter, ready.moments.scatter)
    np.testing.assert_allclose(prepare(copy[0]).moments.scatter, ready.moments.scatter)
    assert copy[1].encoding.names == ready.encoding.names


def test_plain_matrices_by_position(ready):
    encoding = prepare(scan(mixed()[["height", "rooms", "price"]], target="price")).encoding
    x = rows_like(np.array([[1.0, 2.0], [np.nan, 3.0]]), encoding.schema).collect()
    filled = encoding.apply(x).x
    np.testing.assert_allclose(filled[1, 0], mixed().dropna(subset="price")["height"].mean())
    with pytest.raises(InputError, match="3 columns, training had 2"):
        rows_like(np.zeros((2, 3)), encoding.schema)


def test_models_predict_from_tables(tmp_path):
    from separatrix import LinearRegression

    frame = mixed()
    model = LinearRegression().fit(scan(frame, target="price"))
    again = LinearRegression().fit(scan(frame, target="price").read())
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-6)
    frame.to_parquet(tmp_path / "t.parquet")
    a = model.predict(frame[["town", "garden", "rooms", "height"]])
    np.testing.assert_allclose(a, model.predict(tmp_path / "t.parquet"))
    full = frame.dropna()
    assert np.corrcoef(model.predict(full), full["price"])[0, 1] > 0.99
