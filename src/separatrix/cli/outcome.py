"""The command as a whole, and every outcome of it as a message and an exit code.

0 success   1 a gate failed (--min-score, --max-drift …), or a claim is refuted
2 usage or bad input
70 a defect of separatrix   130 interrupted (143 by SIGTERM, 129 by a closed terminal)
"""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback

import click

from separatrix import __version__
from separatrix.cli import NO_RESULTS
from separatrix.cli.check import check, compare
from separatrix.cli.cluster import cluster
from separatrix.cli.compile import compile_loops
from separatrix.cli.failure import GateFailed, Interrupted, Interruptions, describe
from separatrix.cli.fit import curve, fit
from separatrix.cli.listings import explain, samples
from separatrix.cli.predict import predict, query
from separatrix.cli.serve import explore, serve
from separatrix.cli.stored import export, merge, report, summarize, verify
from separatrix.messages import InputError

OPENING = """\
Try:
  separatrix fit sample:diabetes --target progression
  separatrix cluster sample:wine --kind cultivar=ignore
  separatrix predict diabetes-separatrix/model.sx sample:diabetes
"""


class Opening(click.Group):
    """A group whose help opens with commands that can be pasted and run."""

    def list_commands(self, _: click.Context) -> list[str]:
        """In the order of a workflow."""
        return list(self.commands)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Three commands first, then what Click writes."""
        formatter.write(OPENING + "\n")
        super().format_help(ctx, formatter)


@click.group(cls=Opening, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="separatrix", message="%(prog)s %(version)s")
def separatrix() -> None:
    """Regression, classification and clustering of tables, each fit with a certificate."""


for _command in (
    fit,
    cluster,
    predict,
    check,
    compare,
    query,
    curve,
    explore,
    serve,
    report,
    verify,
    export,
    summarize,
    merge,
    samples,
    explain,
    compile_loops,
):
    separatrix.add_command(_command)


def run(given: list[str]) -> int:
    """Run the command; the exit code."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by the parent process
            setattr(sys, stream, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    with Interruptions() as interruptions:
        return _outcome(given, interruptions)


def _outcome(given: list[str], interruptions: Interruptions) -> int:
    as_json = "--json" in given
    try:
        code = separatrix.main(given or ["--help"], prog_name="separatrix", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the reader closed the pipe; Click exits then
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort) as end:
        if isinstance(end.__cause__, EOFError):  # Click takes a file that ends too soon for Ctrl-D
            return _broken_off(end.__cause__, as_json)
        return _report_interruption(interruptions, end.__cause__ or end, as_json)
    except GateFailed as failed:
        describe("gate", str(failed), as_json)
        return 1
    except click.ClickException as problem:
        describe("usage", _usage(problem), as_json)
        return 2
    except InputError as problem:
        place = {"file": problem.file, "row": problem.row, "column": problem.column}
        describe("input", str(problem), as_json, remedy=problem.remedy, **place)
        return 2
    except MemoryError:
        describe("input", NO_MEMORY, as_json)
        return 2
    except Exception as problem:
        limit = _limit(problem)
        if limit and not interruptions.happened:
            describe("input", limit, as_json)
            return 2
        if isinstance(problem, OSError):
            return _broken_off(problem, as_json)
        if interruptions.happened:  # what the interruption broke is not a defect
            return _report_interruption(interruptions, problem, as_json)
        traceback.print_exc()
        what = f"{type(problem).__name__}: {problem}. This is a defect in separatrix itself."
        describe("defect", what, as_json)
        return 70
    return code if isinstance(code, int) else 0


NO_MEMORY = "There is not enough memory for this. Use a smaller table."


def _limit(problem: Exception) -> str:
    """What a limit of the system says, which is neither a defect nor a wrong input; or nothing."""
    text = str(problem)
    if getattr(problem, "errno", None) == errno.ENOMEM or "can't start new thread" in text:
        return NO_MEMORY
    if isinstance(problem, ImportError | OSError) and re.search(r"\.(so|dylib|dll|pyd)\b", text):
        return f"A library cannot be loaded ({text}). Raise the memory limit, or install it again."
    return ""


def _report_interruption(interruptions: Interruptions, end: BaseException, as_json: bool) -> int:
    """What is left of an interrupted command."""
    if isinstance(end, Interrupted):
        describe("interrupted", str(end), as_json, **end.found)
    else:
        describe("interrupted", NO_RESULTS, as_json)
    return interruptions.code


def _usage(problem: click.ClickException) -> str:
    """Click's sentence with the way to the help of the command at fault."""
    context = getattr(problem, "ctx", None)
    hint = "" if context is None else f" See {context.command_path} --help."
    return problem.format_message().rstrip() + hint


def _broken_off(problem: OSError | EOFError, as_json: bool) -> int:
    """Reading or writing failed; an error without a file's name came from printing."""
    number = getattr(problem, "errno", None)
    file = getattr(problem, "filename", None)
    what = "the disk is full" if number == errno.ENOSPC else os.strerror(number or 0)
    if number is None:
        message = f"The input cannot be read ({problem}). Copy it again from its source."
    elif file is not None:
        message = f"{os.fsdecode(file)}: {what}. Check the path and its permissions."
    else:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        message = f"standard output: {what}. Write somewhere else."
    describe("input", message, as_json)
    return 2
