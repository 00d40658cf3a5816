"""The rows of a page: all of a small table, the same sample of a large one, in order."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.exploration import read_table
from separatrix.exploration.plots import PlotPoints, apply_edits, in_python
from separatrix.samples import sample


def test_small_tables_are_whole_and_in_order():
    table = read_table(sample("houses").path, target="price")
    frame = sx.scan(sample("houses").path).read()
    assert len(table) == len(frame) == 600
    assert table.total is None
    pandas = pytest.importorskip("pandas").read_csv(sample("houses").path)
    for name in table.numbers:
        np.testing.assert_array_equal(table.columns[name], pandas[name].to_numpy(float))
    for name, column in table.columns.items():
        if column.dtype.kind != "f":
            assert (column == pandas[name].fillna("").astype(str).to_numpy()).mean() > 0.999


def test_samples_repeat_and_do_not_depend_on_blocks():
    x = np.arange(5_000.0)
    one = read_table({"x": x, "y": x % 7}, rows=300)
    two = read_table({"x": x, "y": x % 7}, rows=300, block_rows=640)
    assert one.total == 5_000
    assert len(one) == 300
    assert (np.diff(one.columns["x"]) > 0).all()
    np.testing.assert_array_equal(one.columns["x"], two.columns["x"])
    # every fifth part of the table has its share: 60 ± 4 standard deviations
    counts = np.histogram(one.columns["x"], bins=5, range=(0, 5_000))[0]
    assert abs(counts - 60).max() < 28


def test_rows_of_all_columns_serve_estimators():
    table = read_table(sample("wine").path)
    model = sx.LinearDiscriminantAnalysis().fit(table.scan("cultivar"))
    own = sx.LinearDiscriminantAnalysis().fit(sx.scan(sample("wine").path, target="cultivar"))
    np.testing.assert_allclose(model.coef_, own.coef_, rtol=1e-9)


def test_edits_in_python_give_the_same_points():
    before = PlotPoints(np.arange(8.0).reshape(4, 2), np.array(["a", "b", "a", "b"]), np.arange(4))
    edits = [["move", 2, 9.0, 9.5], ["add", 1.0, 2.0, "b"], ["delete", 0], ["label", 4, "a"]]
    after = apply_edits(before, edits, 4)
    names = {"X": before.x.copy(), "y": before.y.copy(), "np": np}
    exec("\n".join(in_python(before, edits, 4)), names)
    np.testing.assert_array_equal(names["X"], after.x)
    assert names["y"].tolist() == after.y.tolist() == ["b", "a", "b", "a"]
    assert after.rows.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "edit",
    [
        ["move", 9, 1, 2],
        ["move", 0, 1],
        ["move", 0, "1", 2],
        ["move", 0, float("inf"), 2],
        ["add", 1, 2, "c"],
        ["label", 0, 3],
        ["delete", "0"],
        ["drop"],
        7,
        [],
    ],
)
def test_what_is_no_edit_is_refused(edit):
    points = PlotPoints(np.zeros((2, 2)), np.array(["a", "b"]), np.arange(2))
    with pytest.raises(sx.InputError):
        apply_edits(points, [edit], 2)


def test_a_model_in_place_of_a_table_is_opened_as_one(tmp_path):
    model = sx.LinearRegression().fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    sx.save(model, tmp_path / "model.sx")
    for given in (tmp_path, tmp_path / "model.sx"):
        page = sx.explore(given, browser=False)
        page.close()
        assert page.session.shown is None
        assert page.session.model == str(given)
    with pytest.raises(sx.InputError, match="no such file"):
        sx.explore(tmp_path / "other.sx", browser=False)
