"""Names of columns, levels, classes and tables that try to end a text, a comment or a quotation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, assume, given, reject, settings
from hypothesis import strategies as st
from sqlglot import exp, parse

import separatrix as sx
from separatrix.export.program import program_of
from separatrix.export.sql import DIALECTS, SourceTable, sql_text
from separatrix.messages import InputError

NASTY = [
    "'; DROP TABLE rows; --",
    '"; DROP TABLE "rows',
    "`; DROP TABLE rows",
    "*/ SELECT 1 /*",
    "a\nb",
    "a\r\n# import os",
    '"""',
    "'''",
    "\\",
    "\\'",
    '\\"',
    "{x}",
    "%s",
    "$1",
    "?",
    ":name",
    "select",
    "class",
    "row",
    "x0",
    "é ☃ 名",
    "a\u2028b",
    "x' OR '1'='1",
    "__import__('os')",
]
NAMES = st.one_of(
    st.sampled_from(NASTY),
    st.text(
        st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"),
        min_size=1,
        max_size=8,
    ),
)
N, EXAMPLES = 24, 8


def fitted(columns: list[str], levels: list[str], labels: list[str]) -> tuple[Any, pa.Table]:
    """A classifier of a numeric and a discrete column of these names."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    data = {columns[0]: x, columns[1]: [levels[i % len(levels)] for i in range(N)]}
    y = np.array(labels, dtype=object)[(x + rng.normal(size=N) > 0).astype(int)]
    rows = pa.table({**data, columns[2]: y.tolist()})
    options = {"kinds": {columns[1]: "discrete", columns[2]: "discrete"}}
    model = sx.LogisticRegression().fit(sx.scan(rows, target=columns[2], **options))
    return model, rows


def different(texts: list[str]) -> bool:
    """Whether they stay different without spaces and in lower case, as databases compare them."""
    plain = {text.strip().lower() for text in texts}
    return len(plain) == len(texts) and "" not in plain


@settings(max_examples=EXAMPLES, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.lists(NAMES, min_size=8, max_size=8), NAMES)
def test_names_are_only_names(names: list[str], table: str) -> None:
    columns, levels, labels = names[:3], names[3:6], names[6:8]
    assume(different(columns) and different(levels) and different(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model, _ = fitted(columns, levels, labels)
        except InputError:  # a column or level that reading itself refuses
            reject()
        found = sx.export_model(model, ids=[columns[2]], table=table)
        assert found.check.largest_difference < 1e-9
        assert sx.export_model(model, dialect="sqlite").check.largest_difference < 1e-9
        assert sx.export_model(model, "python").check.largest_difference < 1e-9
        program = program_of(model)
        for dialect in DIALECTS.values():
            query = sql_text(program, dialect, SourceTable(table, (columns[0],)))
            (tree,) = parse(query, dialect=dialect.sqlglot)
            assert tree is not None
            texts = {one.this for one in tree.find_all(exp.Literal) if one.is_string}
            assert set(program.columns[-1].levels[1:]) & texts
            assert set(model.classes_.tolist()) <= texts
            # BigQuery's parser takes a name with dots for a path, whose parts end at them.
            paths = (one.parts for one in tree.find_all(exp.Column))
            assert columns[0] in {".".join(part.name for part in path) for path in paths}


def test_a_query_reads_the_named_table_and_no_other() -> None:
    import duckdb

    name = 'rows"; DROP TABLE other; --'
    model, rows = fitted(["a", "b", "y"], ["it's", '"'], ["no", "yes"])
    query = str(sx.export_model(model, table=name, ids=["a"]).content)
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE other AS SELECT 1 AS one")
        connection.register(name, rows)
        answers = connection.sql(query).fetchall()
        assert connection.sql("SELECT one FROM other").fetchall() == [(1,)]
    assert [one[1] for one in answers] == model.predict(rows).tolist()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("sales.rows", '"sales"."rows"'),
        ('"my rows"', '"my rows"'),
        ("a b", '"a b"'),
        ("rows; DROP TABLE x", '"rows; DROP TABLE x"'),
        ("(SELECT 1)", '"(SELECT 1)"'),
        ("read_csv('/etc/passwd')", "\"read_csv('/etc/passwd')\""),
    ],
)
def test_tables_are_named_by_schema_or_quoted_whole(table: str, words: str) -> None:
    model, _ = fitted(["a", "b", "y"], ["u", "v"], ["no", "yes"])
    assert f"FROM {words}" in str(sx.export_model(model, table=table).content)


def test_texts_that_no_query_can_hold_are_refused() -> None:
    model, _ = fitted(["a", "b", "y"], ["u\0v", "w\0", "\0x"], ["no", "yes"])
    with pytest.raises(InputError, match="SQL cannot write"):
        sx.export_model(model)
    assert sx.export_model(model, "python").check.largest_difference < 1e-9
