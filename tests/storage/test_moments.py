"""Summaries of tables: exact, and mergeable after the journey."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.statistics.moments import Grouped, Moments
from separatrix.storage import StoredMoments, load_moments, save_moments
from tests.storage.files import as_is, damage, header_of, rewrite


def stored(table: dict, **options) -> StoredMoments:
    import polars as pl

    rows = sx.scan(pl.DataFrame(table), target="y", **options)
    parts = Parts(1, 0.2, 3)
    return StoredMoments(rows.schema, parts, rows.with_parts(parts).reduce(Grouped(Moments())))


def houses(seed: int, n: int = 80, shift: float = 0.0) -> dict:
    rng = np.random.default_rng(seed)
    size = rng.normal(5.0, 2.0, n) + shift
    return {
        "size": [None if rng.random() < 0.1 else float(v) for v in size],
        "town": rng.choice(["a", "b", "c"][: 2 + seed % 2], n).tolist(),
        "y": (size + rng.normal(size=n)).tolist(),
    }


def test_moments_survive_and_bytes_repeat(tmp_path) -> None:
    saved = stored(houses(1))
    save_moments(saved, tmp_path / "a.moments")
    back = load_moments(tmp_path / "a.moments")
    assert back.schema == saved.schema
    assert back.parts == saved.parts
    for part, moments in saved.groups.parts.items():
        assert (back.groups.parts[part].scatter == moments.scatter).all()
        assert back.groups.parts[part].terms == moments.terms
    save_moments(back, tmp_path / "b.moments")
    assert (tmp_path / "a.moments").read_bytes() == (tmp_path / "b.moments").read_bytes()


def test_two_tables_add_up_to_their_union_with_other_levels_and_other_origins() -> None:
    first, second = houses(1), houses(2, shift=100.0)  # two levels here, three there
    both = {name: first[name] + second[name] for name in first}
    total = stored(first) + stored(second)
    whole = stored(both)
    from separatrix.statistics.moments import design_moments, learn_encoding

    for part, expected in whole.groups.parts.items():
        found = total.groups.parts[part]
        encoding = learn_encoding(whole.schema, expected)
        a = design_moments(encoding, expected)
        b = design_moments(learn_encoding(total.schema, found), found)
        assert a.terms == b.terms
        assert a.count == b.count
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-10)
        np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-9, atol=1e-8)


def test_summaries_that_do_not_fit_are_refused_by_column() -> None:
    first = stored(houses(1))
    other = houses(1)
    other["area"] = other.pop("size")
    with pytest.raises(
        InputError, match=r"'size' is only in the first.*'area' is only in the second"
    ):
        first + stored(other)
    with pytest.raises(
        InputError, match="missing is 'compare' in the first and 'drop' in the second"
    ):
        first + stored(houses(1), missing="drop")
    with pytest.raises(InputError, match="the split is"):
        first + replace(stored(houses(1)), parts=Parts(2, 0.2, 3))
    numeric = houses(1)
    numeric["town"] = list(range(80))
    with pytest.raises(InputError, match="'town' is discrete in the first and numeric"):
        first + stored(numeric)


@pytest.mark.parametrize(
    ("key", "new"),
    [
        ("groups", {}),
        ("groups", {"0": 3}),
        ("groups", {"x": {"is": "record", "of": "Moments", "fields": {}}}),
        ("schema", 3),
        ("parts", None),
    ],
)
def test_damaged_moments_are_refused(tmp_path, key, new) -> None:
    save_moments(stored(houses(1)), tmp_path / "a.moments")
    with pytest.raises(InputError, match=r"a\.moments"):
        load_moments(damage(tmp_path / "a.moments", key, as_is(new)))


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e300, -1.0])
def test_moments_of_no_table_are_refused(tmp_path, number) -> None:
    whole = stored(houses(1))
    key, moments = next(iter(whole.groups.parts.items()))
    scatter = moments.scatter.copy()
    scatter[0, 0] = number
    odd = Moments(
        moments.terms, moments.targets, moments.count, moments.weight, moments.mean, scatter
    )
    save_moments(replace(whole, groups=Grouped(Moments(), {key: odd})), tmp_path / "a.moments")
    with pytest.raises(InputError, match="are inconsistent"):
        load_moments(tmp_path / "a.moments")


def test_moments_of_other_columns_than_the_schema_has_are_refused(tmp_path) -> None:
    save_moments(stored(houses(1)), tmp_path / "a.moments")
    header, body = header_of(tmp_path / "a.moments")
    schema = header["__metadata__"]["schema"]
    header["__metadata__"]["schema"] = schema.replace('"size"', '"area"')
    rewrite(tmp_path / "a.moments", header, body)
    with pytest.raises(InputError, match="are inconsistent"):
        load_moments(tmp_path / "a.moments")
