"""Every public name documents itself: numpydoc sections with types, and an example that runs."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import inspect
from itertools import pairwise
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from numpydoc.validate import validate
from sklearn.base import BaseEstimator

import separatrix as sx
from separatrix import pictures
from separatrix.parameters import DESCRIPTIONS, describe_parameters

#: numpydoc's codes: a docstring, a summary that ends in a period, parameters (all, none unknown,
#: in order, with type and description), returns with description, See Also, Examples.
CODES = {
    "GL08", "SS01", "SS03", "PR01", "PR02", "PR03", "PR04", "PR07", "PR10", "RT01", "RT03",
    "SA01", "EX01", "SA04",
}  # fmt: skip
#: Of a class what its docstring lists, no other member.
LISTED = {"show_class_members": False}
PUBLIC = {name: f"{home}.{name}" for name, home in sx.HOMES.items()}
PUBLIC |= {name: f"separatrix.pictures.{name}" for name in pictures.__all__}


def resolved(path: str):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_sections_are_complete(name: str) -> None:
    faults = [f"{code}: {text}" for code, text in validate(PUBLIC[name])["errors"] if code in CODES]
    assert not faults


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_estimators_and_records_list_their_attributes_and_functions_what_they_return(name) -> None:
    thing = resolved(PUBLIC[name])
    if not inspect.isclass(thing):
        assert FunctionDoc(thing)["Returns"]
        return
    listed = {n.strip() for a in ClassDoc(thing)["Attributes"] for n in a.name.split(",")}
    if issubclass(thing, BaseEstimator):
        assert any(n.endswith("_") for n in listed), "no fitted attribute is documented"
    elif dataclasses.is_dataclass(thing):
        given = ClassDoc(thing)["Parameters"]
        documented = listed | {n.strip() for p in given for n in p.name.split(",")}
        fields = {f.name for f in dataclasses.fields(thing) if not f.name.startswith("_")}
        assert fields <= documented


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_parameter_and_attribute_is_described(name: str) -> None:
    thing = resolved(PUBLIC[name])
    document = ClassDoc(thing, config=LISTED) if inspect.isclass(thing) else FunctionDoc(thing)
    entries = [*document["Parameters"], *document["Attributes"]]
    assert not [entry.name for entry in entries if not "".join(entry.desc).strip()]


def test_shared_descriptions_are_added_and_others_stay() -> None:
    class Described:
        """One line.

        Parameters
        ----------
        n_jobs : int, default=None
        metric : str
        level : float
            Another level.
        unknown : int

        Attributes
        ----------
        classes_ : ndarray
        """

    listed = ClassDoc(describe_parameters(Described), config=LISTED)
    entries = {e.name: " ".join(e.desc) for e in (*listed["Parameters"], *listed["Attributes"])}
    shared = {n: DESCRIPTIONS[n].replace("\n", " ") for n in ("n_jobs", "metric", "classes_")}
    assert entries == shared | {"level": "Another level.", "unknown": ""}


def test_shared_descriptions_are_written_once() -> None:
    repeated = []
    for path in sorted(Path(sx.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            lines = (ast.get_docstring(node) or "").splitlines() if is_class(node) else []
            for entry, text in pairwise(lines):
                shared = DESCRIPTIONS.get(entry.partition(" : ")[0], "").partition("\n")[0]
                if shared and text.strip() == shared:
                    repeated.append(f"{path.name}: {node.name}.{entry}")
    assert not repeated


def is_class(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_examples_run(name: str) -> None:
    thing = resolved(PUBLIC[name])
    finder = doctest.DocTestFinder(recurse=inspect.isclass(thing))
    examples = finder.find(thing, name, globs={})
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.FAIL_FAST
    )
    out: list[str] = []
    for example in examples:
        runner.run(example, out=out.append)
    assert runner.tries > 0, "there is no example"
    assert not runner.failures, "".join(out)
