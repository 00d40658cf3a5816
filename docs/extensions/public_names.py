"""A page for every public name, from its docstring, grouped as the folders of the library.

Pages are written before Sphinx reads its sources, into ``reference/``, which is not stored.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

import separatrix
from separatrix import pictures, storage

#: Folder of the library → heading of its part of the reference, in the order of the page.
HEADINGS = {
    "study": "Studies",
    "exploration": "Interactive exploration",
    "linear": "Linear regression",
    "additive": "Additive models",
    "logistic": "Logistic regression",
    "discriminant": "Discriminants and naive Bayes",
    "perceptron": "Perceptrons",
    "svm": "Support vector machines",
    "neighbors": "Neighbors and smoothers",
    "metric_learning": "Learned metrics",
    "kernel_machines": "Kernel machines that learn their metric",
    "cluster": "Clusters",
    "bayes": "Bayesian models and Gaussian processes",
    "hypotheses": "Hypotheses: boxes, balls, version spaces",
    "theory": "Learning theory: VC dimension, PAC, Boolean functions, bias and variance",
    "conformal": "Conformal intervals and sets",
    "probability": "Probabilities, calibration, costs, several classes",
    "selection": "Choosing a model: criteria, curves",
    "estimators": "Scaling, encoding, averages, baselines",
    "kernels": "Kernels",
    "distances": "Distances",
    "geometry": "Geometry",
    "optimize": "Optimization",
    "statistics": "Statistics of rows",
    "rows": "Tables",
    "storage": "Files of models, and moments that add up",
    "export": "Export",
    "verification": "Verification",
    "messages": "Errors and warnings",
    "catalogue": "Estimators of other packages",
    "pictures": "Pictures",
}


#: Folder of the library → the page that explains it.
GUIDES = {
    "study": "guide/command",
    "exploration": "guide/explore",
    "linear": "guide/least-squares",
    "additive": "models",
    "logistic": "guide/logistic",
    "discriminant": "guide/classes",
    "perceptron": "guide/perceptrons",
    "svm": "guide/support-vectors",
    "neighbors": "guide/neighbors",
    "metric_learning": "guide/neighbors",
    "kernel_machines": "guide/kernels",
    "cluster": "guide/clusters",
    "bayes": "guide/bayes",
    "hypotheses": "guide/hypotheses",
    "theory": "guide/learning-theory",
    "conformal": "guide/conformal",
    "probability": "guide/decisions",
    "selection": "guide/complexity",
    "estimators": "guide/rows",
    "kernels": "guide/kernels",
    "distances": "guide/neighbors",
    "geometry": "guide/decisions",
    "optimize": "guide/logistic",
    "statistics": "guide/scale",
    "rows": "guide/rows",
    "storage": "model-file",
    "export": "guide/export",
    "verification": "guide/verify",
    "messages": "guide/warnings",
    "catalogue": "architecture",
    "pictures": "guide/pictures",
}

#: Methods that scikit-learn gives to estimators, in our words; its others are not listed.
INHERITED = {
    "get_params": "The parameters of the constructor, by name.",
    "set_params": "Change parameters of the constructor; the estimator itself is returned.",
    "score": "How good predictions are: R² of numbers, the share of right classes.",
    "fit_transform": "Fit, and transform the same rows.",
    "fit_predict": "Fit, and return the cluster of every row.",
    "set_output": "Choose between arrays and data frames as results of ``transform``.",
}


def names() -> dict[str, dict[str, Any]]:
    """Folder → public name → what it names."""
    groups: dict[str, dict[str, Any]] = {folder: {} for folder in HEADINGS}
    for name, home in separatrix.HOMES.items():
        groups[home.split(".")[1]][name] = getattr(importlib.import_module(home), name)
    for package in (pictures, storage):
        own = {name: getattr(package, name) for name in package.__all__}
        groups[package.__name__.split(".")[1]] |= own
    return {folder: dict(sorted(named.items())) for folder, named in groups.items() if named}


def module(folder: str, name: str) -> str:
    """Where a public name is imported from."""
    return "separatrix" if name in separatrix.HOMES else f"separatrix.{folder}"


def summary(thing: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


def guide_of(folder: str, source: Path) -> str:
    """A link to the page that explains what a folder of the library holds."""
    path = GUIDES[folder]
    title = (
        (source / f"{path}.md").read_text("utf-8").partition("\n")[0].lstrip("# ").replace("`", "")
    )
    return f":doc:`{title} </{path}>`"


def page(name: str, thing: Any, home: str, guide: str) -> str:
    """The page of a name: its docstring and those of its methods, where to read more, examples."""
    lines = [name, "=" * len(name), "", f".. currentmodule:: {home}", ""]
    lines += [f"Read more in the guide: {guide}.", ""]
    examples = ["", f".. minigallery:: {home}.{name}"]
    examples += ["   :add-heading: In the gallery", "   :heading-level: -", ""]
    if not inspect.isclass(thing):
        return "\n".join([*lines, f".. autofunction:: {name}", *examples])
    lines += [f".. autoclass:: {name}", "   :members:"]
    lines += ["   :inherited-members: BaseEstimator, tuple, Exception"]
    lines += [f"   :exclude-members: {', '.join(left_out(thing))}"]
    return "\n".join([*lines, *examples])


def left_out(thing: type) -> list[str]:
    """Members without an entry: fitted attributes that the docstring of their class describes as
    fully, and methods that only refuse."""
    text = inspect.getdoc(thing) or ""

    def described(name: str, member: Any) -> bool:
        fitted = isinstance(member, property) and name.endswith("_")
        return fitted and "\n" not in inspect.getdoc(member) and re.search(rf"\b{name}\b", text)

    return [
        name
        for name, member in inspect.getmembers_static(thing)
        if described(name, member)
        or (inspect.getdoc(member) or "").startswith("Raises")
        or name == "get_metadata_routing"
    ]


def index(groups: dict[str, dict[str, Any]]) -> str:
    """The list of all names, each with its first line."""
    lines = ["Reference", "=========", "", "Every public name; all are attributes of"]
    lines += ["``separatrix``, pictures of ``separatrix.pictures`` and moments of"]
    lines += ["``separatrix.storage``.", ""]
    for folder, named in groups.items():
        heading = HEADINGS[folder]
        lines += [heading, "-" * len(heading), "", ".. list-table::", "   :widths: 30 70", ""]
        for name, thing in named.items():
            lines += [f"   * - :doc:`{name} <{name}>`", f"     - {summary(thing)}"]
        lines += ["", ".. toctree::", "   :hidden:", f"   :caption: {heading}", ""]
        lines += [*(f"   {name}" for name in named), ""]
    return "\n".join(lines)


def write(app: Sphinx) -> None:
    """Write the pages; one whose text is the same is left alone, and so not read again."""
    folder = Path(app.srcdir) / "reference"
    groups = names()
    pages = {"index": index(groups)}
    for key, named in groups.items():
        guide, home = guide_of(key, Path(app.srcdir)), {name: module(key, name) for name in named}
        pages |= {name: page(name, thing, home[name], guide) for name, thing in named.items()}
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.stem not in pages:
            path.unlink() if path.is_file() else shutil.rmtree(path)
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def skip(_: Sphinx, __: str, name: str, member: Any, skipped: bool, *___: Any) -> bool | None:
    """Leave out what scikit-learn's own machinery adds to every class."""
    foreign = not str(getattr(member, "__module__", "")).startswith("separatrix")
    return True if not skipped and foreign and callable(member) and name not in INHERITED else None


def own_words(_: Sphinx, __: str, path: str, thing: Any, ___: Any, lines: list[str]) -> None:
    """State an inherited method in our words."""
    name = path.rpartition(".")[2]
    if name in INHERITED and str(getattr(thing, "__module__", "")).startswith("sklearn"):
        lines[:] = [INHERITED[name], ""]


def own_method(name: str, thing: type) -> bool:
    """Whether a class of ours has such a method, to be listed below its docstring."""
    member = getattr(thing, name, None)
    home = str(getattr(member, "__module__", ""))
    return not name.startswith("_") and inspect.isroutine(member) and home.startswith("separatrix")


def formulas(thing: Any) -> set[str]:
    """The indented lines at the head of a docstring; numpydoc takes the indent of lone ones."""
    head = re.split(r"\n\w[\w ]+\n---", inspect.getdoc(thing) or "")[0]
    return {line.strip() for line in head.splitlines() if line.startswith("    ")} - {""}


def plain_text(_: Sphinx, what: str, __: str, thing: Any, ___: Any, lines: list[str]) -> None:
    """Absolute values, names that end in an underscore and initials are text, not markup."""
    example = False
    lone = formulas(thing)
    lines[:] = [f"    {line}" if line in lone else line for line in lines]
    alone = left_out(thing) if what == "class" else []
    if what == "class" and any(own_method(name, thing) for name in {*dir(thing)} - {*alone}):
        lines += ["", ".. rubric:: Methods", ""]
    for i, line in enumerate(lines):
        for name in alone:  # numpydoc links attributes to entries, of which these have none
            line = line.replace(f":obj:`{name} <.{name}>`", f"**{name}**")
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example and not line.lstrip().startswith(".. "):
            parts = re.split(r"(``.*?``|:\w+:`.*?`|\*\*.*?\*\*|`.*?`_?)", line)
            parts[::2] = [re.sub(r"(?<=\w)_(?!\w)|\|", r"\\\g<0>", text) for text in parts[::2]]
            line = "".join(parts)
            # an author or a symbol, not item B. of a list
            lines[i] = re.sub(r"^(\s*(?:- )?)(?=[A-Za-z]\.( |$))", r"\1\\", line)


def link_names(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Make every public name that a page prints as code a link to its own page."""
    known = {name for named in names().values() for name in named}
    pattern = re.compile(r"(sx\.|separatrix\.)?(\w+)(\(.*\))?")
    for literal in list(tree.findall(nodes.literal)):
        match = pattern.fullmatch(literal.astext())
        if match is None or match[2] not in known or page == f"reference/{match[2]}":
            continue
        plain = match[2].islower() and "_" not in match[2] and match[2] != "scan"
        inside = isinstance(literal.parent, nodes.reference | nodes.title)
        if inside or (plain and not (match[1] or match[3])):
            continue  # a word such as query may be a command or a method
        target = f"reference/{match[2]}"
        literal.replace_self(make_refnode(app.builder, page, target, "", literal.deepcopy()))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", own_words, priority=100)
    app.connect("autodoc-process-docstring", plain_text, priority=900)  # after numpydoc
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
