"""Connection to a Dask scheduler, refused in words within seconds where there is none."""

from __future__ import annotations

from typing import Any

from separatrix.messages import InputError
from separatrix.rows.distributed.travel import missing_extra

#: Seconds to wait for the scheduler, and for its first worker.
CONNECT_SECONDS, WORKER_SECONDS = 4, 4

_clients: dict[str, Any] = {}


def connected(address: Any) -> Any:
    """A client of the scheduler at an address, or the client that is given."""
    try:
        from distributed import Client
    except ImportError as absent:
        raise missing_extra("A cluster", "Dask", "dask") from absent
    if not isinstance(address, str):
        if not isinstance(address, Client):
            raise InputError(
                f"`cluster` is a {type(address).__name__}.",
                remedy="Give the address of a Dask scheduler, such as tcp://127.0.0.1:8786.",
            )
        return _checked(address, address.scheduler.address)
    known = _clients.get(address)
    if known is None or known.status != "running":
        _clients[address] = known = _checked(_opened(address), address)
    return known


def _opened(address: str) -> Any:
    import logging

    from distributed import Client

    if "://" not in address or not address.rpartition(":")[2].rstrip("/").isdigit():
        raise InputError(
            f"{address!r} is not the address of a Dask scheduler.",
            remedy="Write it with protocol and port, as tcp://127.0.0.1:8786.",
        )
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is raised
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as problem:
        raise InputError(
            f"No Dask scheduler answers at {address} ({_first_line(problem)}).",
            remedy="Start one with `dask scheduler` and workers with `dask worker ADDRESS`, or "
            "check the address.",
        ) from problem


def _checked(client: Any, address: str) -> Any:
    """The client, if workers are there and run this version."""
    from separatrix import __version__

    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except Exception as problem:
        raise InputError(
            f"The Dask scheduler at {address} has no workers.",
            remedy=f"Start some: dask worker {address}.",
        ) from problem
    try:
        found = set(client.run(version).values())
    except Exception as problem:
        raise InputError(
            f"The workers at {address} cannot run separatrix ({_first_line(problem)}).",
            remedy=f"Install it there: pip install 'separatrix[dask]=={__version__}'.",
        ) from problem
    others = sorted(found - {__version__})
    if others:
        raise InputError(
            f"The workers at {address} run separatrix {others[0]}, this process {__version__}.",
            remedy="Install the same version on both.",
        )
    return client


def version() -> str:
    """The version of this library where it is called."""
    from separatrix import __version__

    return __version__


def free_memory(client: Any) -> float:
    """Bytes that the workers have to spare: half of the memory of each, less what it uses."""
    spare = 0.0
    for worker in client.scheduler_info(n_workers=-1)["workers"].values():
        limit, used = worker.get("memory_limit") or 0, worker.get("metrics", {}).get("memory", 0)
        spare += max(0.5 * limit - used, 0.0)
    return spare


def workers_of(client: Any) -> int:
    """How many workers there are now."""
    return len(client.scheduler_info(n_workers=-1)["workers"])


def _first_line(problem: Exception) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(problem).__name__
