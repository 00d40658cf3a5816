"""A large text file is cut at ends of records: its parts together are the file, row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows import distributed
from separatrix.rows.sources.csv import CsvSource

VALUES = st.text(st.sampled_from('ab"\n\r,; 5é'), max_size=6)


def _rows_of(source: CsvSource) -> list[tuple[object, ...]]:
    names = source.own.names
    source = source.as_text(names)
    found = []
    for located in source.batches(names, 7):
        rows = zip(*(located.batch[name].to_pylist() for name in names), strict=True)
        found += [(located.location.start + i, *row) for i, row in enumerate(rows)]
    return found


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(st.tuples(VALUES, VALUES, st.booleans()), min_size=4, max_size=30),
    end=st.sampled_from(["\n", "\r\n"]),
    least=st.integers(1, 40),
    last=st.booleans(),
)
def test_parts_are_the_file(
    rows: list[tuple[str, str, bool]], end: str, least: int, last: bool, tmp_path: Path
) -> None:
    plain = str.maketrans("", "", '"\n\r,')
    lines = [
        ",".join(_quoted(v) if quoted else v.translate(plain) + 'x"' for v in (a, b))
        for a, b, quoted in rows
    ]
    place = tmp_path / "rows.csv"
    place.write_bytes((end.join(["first,second", *lines]) + end * last).encode())
    source = CsvSource([str(place)], {})
    try:
        whole = _rows_of(source)
    except InputError:
        return  # refused as a whole: no worker sees it
    parts = source.cut(least)
    assert [row for part in parts for row in _rows_of(part)] == whole
    if least < 10 and len(rows) > 10:
        assert len(parts) > 1


@pytest.mark.parametrize("layout", ["header", "none", "comments", "utf-16", "windows-1252"])
def test_layouts(layout: str, tmp_path: Path) -> None:
    place = tmp_path / "rows.csv"
    before = {"header": "a;b\n", "none": "", "comments": "# of a shop\n# twice\na;b\n"}
    text = before.get(layout, "a;b\n") + "".join(f"{i};é{i % 7}\n" for i in range(500))
    encoding = layout if layout in ("utf-16", "windows-1252") else "utf-8"
    place.write_bytes(text.encode(encoding))
    source = CsvSource([str(place)], {})
    parts = source.cut(300)
    assert len(parts) == 1 if layout == "utf-16" else len(parts) > 3
    assert [row for part in parts for row in _rows_of(part)] == _rows_of(source)


def test_workers_read_parts_and_faults_have_their_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from distributed import Client, LocalCluster

    monkeypatch.setattr(distributed, "PIECE_BYTES", 4_000)
    rng = np.random.default_rng(0)
    n = 2_000
    table = pa.table({"a": rng.normal(size=n), "b": rng.normal(size=n), "y": rng.normal(size=n)})
    place = tmp_path / "rows.csv"
    pa.csv.write_csv(table, place)
    bad = tmp_path / "bad.csv"
    lines = place.read_text().splitlines()
    lines[1_501] = "1,2,inf"
    bad.write_text("\n".join(lines))
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as local,
        Client(local) as client,
    ):
        rows = sx.scan(str(place), target="y", cluster=client)
        model = sx.LinearRegression().fit(rows)
        assert rows.travel.pieces > 10
        np.testing.assert_allclose(
            model.coef_, sx.LinearRegression().fit(sx.scan(table, target="y")).coef_, rtol=1e-10
        )
        with pytest.raises(InputError, match=r"row 1,?501"):
            sx.LinearRegression().fit(sx.scan(str(bad), target="y", cluster=client))
