"""The command: every family in a process of its own."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from separatrix.cli import options, output
from separatrix.messages import InputError

if TYPE_CHECKING:
    from separatrix.cli.first_fits import Compiled


@click.command(name="compile", short_help="Compile all numerical loops now, not at first use.")
@options.json_option
def compile_loops(as_json: bool) -> None:
    """Compile all numerical loops now, so that no first fit waits for them.

    Loops are stored in NUMBA_CACHE_DIR, or beside the installed package, or in the user's cache
    folder: the first of these that is writable. What is stored already is not compiled again.

    \b
    Try:
      separatrix compile
    """
    started = time.perf_counter()
    done = _in_processes(quiet=as_json)
    seconds = time.perf_counter() - started
    if not all(part.stored for part in done):
        raise InputError(
            "No folder is writable, so compiled loops cannot be stored.",
            remedy="Set NUMBA_CACHE_DIR to a writable folder, here and where models are fitted.",
        )
    loops = sum(part.loops for part in done)
    if as_json:
        families = {part.family: {"loops": part.loops, "seconds": part.seconds} for part in done}
        output.print_json({"loops": loops, "seconds": seconds, "families": families})
        return
    columns = (
        output.OutputColumn("models"),
        output.OutputColumn("loops", right=True),
        output.OutputColumn("seconds", right=True),
    )
    output.print_table(
        columns, [[p.family, str(p.loops), f"{p.seconds:.1f}"] for p in done if p.loops]
    )
    if loops:
        output.say(
            f"Compiled {loops} loops in {seconds:.0f} s. First fits no longer wait for them."
        )
    else:
        output.say(f"All loops were compiled already (checked in {seconds:.0f} s).")


def _in_processes(*, quiet: bool) -> list[Compiled]:
    """The families, on as many processes as there are threads: compilation itself uses one."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from separatrix.cli.first_fits import compile_family, families
    from separatrix.threads import available_threads

    workers = min(available_threads(), len(families()))
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes to come: fits so small need no threads
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        tasks = [pool.submit(compile_family, family) for family in families()]
        for number, task in enumerate(as_completed(tasks), 1):
            output.say(f"{number} of {len(tasks)}: {task.result().family}", quiet=quiet)
    return [task.result() for task in tasks]
