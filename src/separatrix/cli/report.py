"""``separatrix report``: the page of a study, rebuilt from the model file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from separatrix.cli.options import json_option
from separatrix.cli.output import print_json, say
from separatrix.messages import InputError


@click.command(short_help="Rebuild the report of a stored model.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="HTML file to write.")
@json_option
def report(model: Path, out: Path | None, as_json: bool) -> None:
    """Write the report of MODEL, a model.sx file or the directory that contains it.

    \b
    Try:
      separatrix report diabetes-separatrix
      separatrix report diabetes-separatrix/model.sx --out page.html
    """
    from separatrix.cli.places import MODEL, REPORT, ready_file

    file = model / MODEL if model.is_dir() else model
    page = ready_file(file.with_name(REPORT) if out is None else out)
    from separatrix.report import write, write_clusters
    from separatrix.storage import load, load_study
    from separatrix.study.cluster.result import ClusterStudy

    fitted = load(file)
    study: Any = load_study(file)
    make: Callable[[Any, Path], None] = write_clusters if isinstance(study, ClusterStudy) else write
    if study is None:
        raise InputError(
            "contains a model without the study that selected it, so there is nothing to report.",
            file=str(file),
            remedy="Name a model.sx file that separatrix fit or cluster wrote.",
        )
    try:
        make(replace(study, model=fitted), page)
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        # fit or cluster built this page before it wrote the file: the file was changed
        raise InputError(
            f"contains a study that cannot be rendered ({type(problem).__name__}: {problem}).",
            file=str(file),
            remedy="Write it again with separatrix fit or cluster.",
        ) from problem
    if as_json:
        print_json({"report": str(page)})
    else:
        click.echo(str(page))
        say("Open it in any browser; it needs no network.")
