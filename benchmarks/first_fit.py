"""What a newcomer waits for: import, help, and the first fit ever of each model (compiling).

A first fit is measured in a forked process that has imported everything and compiled nothing, with
an empty cache of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

#: Seconds of compilation that a first fit may take.
LIMIT = 2.0

COMPILE = """
import os, shutil, sys, warnings
import separatrix
from separatrix.catalogue import DECLARATIONS
from separatrix.cli import first_fits
from separatrix.compilation import watch

for name in dir(separatrix):
    getattr(separatrix, name)
watch.announce = lambda _: None
warnings.simplefilter("ignore")
kinds = sys.argv[1].split(",")
for name, declared in DECLARATIONS.items():
    for options, table in first_fits.cases(declared):
        if table.name not in kinds:
            continue
        sys.stdout.flush()
        if os.fork():
            os.wait()
            shutil.rmtree(os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)
            continue
        first_fits.fit(declared, options, table)
        print(f"{name} {options or ''} {table.name}|{watch.seconds}", flush=True)
        os._exit(0)
"""


def timed(*command: str, **env: str) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **env}
    )
    return time.perf_counter() - start, done.stdout.strip()


def main(quick: bool = False) -> None:
    print("\n## First use in a new process")
    script = str(Path(sys.executable).with_name("separatrix"))
    print(f"import separatrix      {timed(sys.executable, '-c', 'import separatrix')[0]:.2f} s")
    every = "import separatrix as sx; [getattr(sx, name) for name in sx.__all__]"
    print(f"import every model     {timed(sys.executable, '-c', every)[0]:.2f} s")
    print(f"separatrix --help      {min(timed(script, '--help')[0] for _ in range(3)):.2f} s")
    found = sorted(_first_fits("plain" if quick else "plain,wide,sparse,tall"), reverse=True)
    slow = sum(seconds > LIMIT for seconds, _ in found)
    print(f"{len(found)} first fits; {slow} compile for more than {LIMIT:.0f} s. The longest:")
    for seconds, name in found[:15]:
        print(f"{seconds:6.2f} s  {name}")


def _first_fits(kinds: str) -> Iterator[tuple[float, str]]:
    """Seconds of compilation and the name of the fit, for every model on some kinds of tables."""
    with tempfile.TemporaryDirectory() as folder:
        cache = str(Path(folder) / "cache")
        _, lines = timed(sys.executable, "-c", COMPILE, kinds, NUMBA_CACHE_DIR=cache)
        for line in lines.splitlines():
            name, seconds = line.rsplit("|", 1)
            yield float(seconds), name


if __name__ == "__main__":
    main("--quick" in sys.argv)
