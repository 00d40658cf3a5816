"""What is declared of a class is what it does, and what the documents say of it.

``python -m tests.laws.test_declarations`` writes the table of ``docs/models.md`` and the stubs
``__init__.pyi`` anew.
"""

from __future__ import annotations

import ast
import re
from inspect import signature
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.utils import all_estimators, get_tags

import separatrix as sx
from separatrix import pictures
from separatrix.catalogue import DECLARATIONS, Declaration, declaration_of, of_task
from separatrix.exploration.views import boundary, decide, line
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.sources.stream import BatchedRows
from separatrix.storage.container import encode
from separatrix.study.describe import describe
from tests.drop_in.plugin import same_named
from tests.registry import CLUSTERERS, HIERARCHIES, INTERPOLATIONS, METRIC_LEARNERS, REGISTRY

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "docs" / "models.md"

RNG = np.random.default_rng(0)
X = np.abs(np.round(RNG.standard_normal((90, 3)), 2))
Y = np.round(X[:, 0] + 0.5 * RNG.standard_normal(90), 2)
LABELS = np.where(np.median(Y) < Y, "up", "down")

each = pytest.mark.parametrize("declared", DECLARATIONS.values(), ids=lambda d: d.name)
of_rows = [d for d in DECLARATIONS.values() if d.task != "calibration"]
each_of_rows = pytest.mark.parametrize("declared", of_rows, ids=lambda d: d.name)


def learns_classes(declared: Declaration) -> bool:
    return getattr(declared.make(), "_learns", declared.task) in ("classes", "classification")


def target(declared: Declaration) -> np.ndarray:
    if learns_classes(declared):
        return LABELS
    tags = declared.make().__sklearn_tags__().target_tags
    return np.floor(np.exp(Y)) if tags is not None and tags.positive_only else Y


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> dict[str, Path]:
    """Files with numbers, with numbers that are not negative, and with classes as the target."""
    folder = tmp_path_factory.mktemp("tables")
    kinds = {"numbers": Y, "counts": np.abs(Y), "classes": LABELS}
    for name, values in kinds.items():
        lines = [",".join(map(str, [*row, t])) for row, t in zip(X, values, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c,t", *lines]))
    return {name: folder / f"{name}.csv" for name in kinds}


@each
def test_the_task_is_that_of_the_class(declared: Declaration) -> None:
    model = declared.make()
    assert declaration_of(model) is declared
    checks = {
        "classification": is_classifier,
        "regression": is_regressor,
        "clustering": is_clusterer,
        "outliers": is_outlier_detector,
    }
    recognized = {task for task, check in checks.items() if check(model)}
    assert recognized == ({declared.task} & set(checks))
    for options in declared.variants:
        declared.make().set_params(**options)


@each_of_rows
def test_tables_beyond_memory_are_read_block_by_block(
    declared: Declaration, tables: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A declared stream never holds all rows; any other model asks for them."""
    collect = Rows.collect

    def refuse(rows: Rows) -> object:
        if isinstance(rows, InMemory):
            return collect(rows)
        raise MemoryError("all rows at once")

    monkeypatch.setattr(Rows, "collect", refuse)
    monkeypatch.setattr(BatchedRows, "read", refuse)
    model = declared.make().set_params(**(declared.stream or {}))
    kind = "classes" if learns_classes(declared) else "numbers"
    if get_tags(model).target_tags.positive_only:
        kind = "counts"
    rows = sx.scan(tables[kind], target="t")
    if declared.stream is None:
        with pytest.raises(MemoryError):
            model.fit(rows)
    else:
        model.fit(rows)


@each_of_rows
def test_moments_take_the_place_of_rows_where_that_is_declared(declared: Declaration) -> None:
    moments = sx.scan(X, target=Y).reduce(sx.Moments())
    if declared.moments:
        model = declared.make().fit(moments)
        assert np.allclose(model.predict(X), declared.make().fit(X, Y).predict(X))
    else:
        with pytest.raises((ValueError, TypeError)):
            declared.make().fit(moments)


@each_of_rows
def test_sparse_rows_are_taken_where_the_class_says_so(declared: Declaration) -> None:
    model, x = declared.make(), sparse.csr_array(np.where(X > 0.5, X, 0.0))
    if model.__sklearn_tags__().input_tags.sparse:
        model.fit(x, target(declared))
    else:
        with pytest.raises(TypeError, match="Sparse data"):
            model.fit(x, target(declared))


def test_twins_are_the_classes_that_scikit_learn_has_under_the_same_name() -> None:
    theirs = dict(all_estimators())
    twins = {d.name: d.twin for d in DECLARATIONS.values() if d.twin}
    assert twins == {n: theirs[n].__module__.split(".")[1] for n in DECLARATIONS if n in theirs}
    assert set(twins) == set(same_named())


@pytest.mark.parametrize("name", [d.name for d in DECLARATIONS.values() if d.verifier])
def test_a_verifier_recomputes_the_certificate(name: str) -> None:
    declared = DECLARATIONS[name]
    model = declared.make().fit(X, target(declared))
    assert sx.verify(model, X, target(declared)).holds


def test_views_have_sliders_for_the_models_that_are_declared_so() -> None:
    views = {"classification": boundary.SLIDERS, "regression": line.SLIDERS | line.PATHS}
    for task, models in views.items():
        assert set(models) <= {d.view for d in of_task(task)}
    page = Path(boundary.__file__).parents[1] / "page" / "views"
    for task, view in (("classification", "boundary"), ("regression", "line")):
        menu = (page / view / "controls.js").read_text("utf-8").split("export const MODELS")[1]
        named = re.findall(r'\["([\w ]+)", "', menu.split("];")[0])
        assert set(named) == {d.view for d in of_task(task) if d.view}
    assert {name for name, _, _ in decide.MODELS.values()} <= set(DECLARATIONS)


@pytest.mark.parametrize(
    "declared",
    [d for d in of_rows if d.task in ("regression", "classification")],
    ids=lambda d: d.name,
)
def test_every_model_of_a_study_is_described(declared: Declaration) -> None:
    x, y = X, target(declared)
    if declared.make().__sklearn_tags__().input_tags.one_d_array:  # of one column, no value twice
        x, first = np.unique(X[:, :1], axis=0, return_index=True)
        y = y[first]
    model = declared.make().fit(x, y)
    found = describe(model)
    assert found.certificate is model.certificate_
    stored: dict[str, np.ndarray] = {}
    encode(model, stored, "model")
    tables = [t for t in stored.values() if t.ndim == 2 and t.shape[1] == x.shape[1]]
    has_rows = any((t[:, None] == x).all(axis=2).any() for t in tables)
    assert has_rows <= (found.stored_rows is not None), (
        "the file has training rows, and the study does not say so"
    )


def test_every_model_has_a_row_of_laws() -> None:
    rows = (*REGISTRY, *CLUSTERERS, *HIERARCHIES, *METRIC_LEARNERS, *INTERPOLATIONS)
    known = {type(row.make()).__name__ for row in rows}
    tasks = ("regression", "classification", "clustering")
    named = {d.name for d in of_rows if d.task in tasks or d.family == "metric_learning"}
    assert named - known == set()


def test_no_other_list_of_classes_exists() -> None:
    """Names of three estimators side by side belong into a declaration."""
    found = []
    for path in sorted(Path(sx.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            items = getattr(node, "elts", None) or getattr(node, "keys", None) or ()
            names = [i.value for i in items if isinstance(i, ast.Constant)]
            if len(set(DECLARATIONS) & {n for n in names if isinstance(n, str)}) > 2:
                found.append(f"{path.name}:{node.lineno}")
    assert not found


# -- documents -------------------------------------------------------------------------------------


def takes() -> str:
    """The table "Which estimator takes what" of docs/models.md."""
    mark = {True: "yes", False: ""}
    candidates = {d.name: d.studied_as for d in of_rows}
    lines = [
        "| name | sparse rows | files, databases, Dask, Spark | `Moments` | `partial_fit` "
        "| weights | leave-one-out in closed form | `separatrix verify` | name in a study |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for d in of_rows:
        cls, model = d.load(), d.make()
        most = "" if np.isinf(d.most_rows) else f", up to {d.most_rows:_.0f} rows".replace("_", " ")
        stream = "block by block" if d.stream is not None else "in memory"
        given = ", ".join(f"`{name}=…`" for name in d.stream or {})
        studied = d.task in ("regression", "classification") and d.example is None
        cells = (
            f"`{d.name}`",
            mark[model.__sklearn_tags__().input_tags.sparse],
            f"{stream} with {given}{most and ', else in memory'}{most}" if given else stream + most,
            mark[d.moments],
            mark[hasattr(cls, "partial_fit")],
            mark["sample_weight" in signature(cls.fit).parameters],
            mark[hasattr(cls, "leave_one_out_fits")],
            mark[bool(d.verifier)],
            f"`{candidates[d.name]}`" if studied else "",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(["", *(line.replace("  ", " ") for line in lines), "", ""])


BETWEEN = re.compile(r"(?<=<!-- declared -->\n).*?(?=<!-- end -->)", re.S)


def test_the_table_of_the_documents_is_that_of_the_declarations() -> None:
    found = BETWEEN.search(MODELS.read_text("utf-8"))
    assert found is not None
    assert found[0] == takes(), "python -m tests.laws.test_declarations writes it anew"


def test_the_guide_says_of_every_verifier_what_it_proves() -> None:
    text = (ROOT / "docs" / "guide" / "verify.md").read_text("utf-8")
    named = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ([^|]*)\|", text, re.M))))
    assert named & set(DECLARATIONS) == {d.name for d in DECLARATIONS.values() if d.verifier}


def test_every_declared_class_has_a_line_in_the_documents() -> None:
    text = BETWEEN.sub("", MODELS.read_text("utf-8"))
    named = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ([^|]*)\|", text, re.M))))
    assert set(DECLARATIONS) - named == set()


# -- the stub of the package -----------------------------------------------------------------------


def stub(package: ModuleType) -> str:
    """``__init__.pyi``: one import for every public name, in order of modules."""
    lines = []
    for name, home in sorted(package.HOMES.items(), key=lambda item: (item[1], item[0])):
        line = f"from {home} import {name} as {name}"
        lines.append(
            line if len(line) <= 100 else f"from {home} import (\n    {name} as {name},\n)"
        )
    version = ["__version__: str"] if package is sx else []
    return "\n".join([FIRST, "", *lines, "", *version, *LAST, ""])


FIRST = (
    "# Types of the public names, for editors and type checkers: "
    "one import for every entry of HOMES."
)
LAST = ("HOMES: dict[str, str]", "__all__: list[str]")


@pytest.mark.parametrize("package", [sx, pictures])
def test_the_stub_is_that_of_the_public_names(package: ModuleType) -> None:
    written = stub_of(package).read_text("utf-8")
    assert written == stub(package), "python -m tests.laws.test_declarations writes it"


def stub_of(package: ModuleType) -> Path:
    return Path(str(package.__file__)).with_suffix(".pyi")


if __name__ == "__main__":
    MODELS.write_text(BETWEEN.sub(lambda _: takes(), MODELS.read_text("utf-8")), "utf-8")
    for package in (sx, pictures):
        stub_of(package).write_text(stub(package), "utf-8")
