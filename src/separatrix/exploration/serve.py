"""The server of a page: 127.0.0.1, a free port, a token in the address."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import socket
import threading
import webbrowser
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from separatrix.exploration.guard import Guard
from separatrix.exploration.session import Session, stored_at
from separatrix.exploration.table import ROWS, Table, read_table
from separatrix.exploration.views import load_views
from separatrix.messages import InputError

#: Seconds until the server must answer.
PATIENCE = 20.0


class Page:
    """A page that is being served: its ``address``, until :meth:`close`."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self.port = 0

    @property
    def address(self) -> str:
        """The address of the page; it holds the token, so it opens the page for whoever has it."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def start(self) -> Self:
        """Listen on a free port, in a thread of its own."""
        try:
            import uvicorn

            from separatrix.exploration.application import application
        except ImportError as missing:
            raise InputError(
                f"The page needs {missing.name}, which is not installed.",
                remedy="Install it: pip install 'separatrix[explore]'.",
            ) from missing
        guard = Guard(application(self.session), self.token)
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = guard.port = listener.getsockname()[1]
        config = uvicorn.Config(
            guard,
            log_level="critical",  # a tab that is closed while it waits is no error
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        run = self._server.run
        self._thread = threading.Thread(target=run, args=([listener],), daemon=True)
        self._thread.start()
        for _ in range(int(100 * PATIENCE)):
            if not self._server.started:
                self._thread.join(0.01)
        if not self._server.started:
            raise InputError("The page could not be served on 127.0.0.1.")
        return self

    def open(self) -> Self:
        """Open the page in a browser."""
        webbrowser.open(self.address)
        return self

    def wait(self) -> None:
        """Serve until the thread ends, the terminal is closed, or the caller is interrupted.

        Not every process hears (SIGHUP) that its terminal was closed; one that ignores it goes on.
        """
        load_views()  # the page asks soon, and the caller has nothing to do
        ignored = hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        while self._thread is not None and self._thread.is_alive():
            if not ignored and any(map(_hung_up, range(3))):
                break
            self._thread.join(0.2)

    def close(self) -> None:
        """End the server."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(PATIENCE)

    def __enter__(self) -> Self:
        return self if self._thread else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Page {self.address}>"

    def _repr_html_(self) -> str:
        return f'<a href="{self.address}" target="_blank" rel="noreferrer">{self.address}</a>'


def _hung_up(descriptor: int) -> bool:
    """Whether a file is a terminal that was closed."""
    try:
        os.get_terminal_size(descriptor)
    except OSError as problem:
        return problem.errno == errno.EIO
    return False


def explore(
    table: Any = None,
    target: str | None = None,
    *,
    model: Any = None,
    rows: int = ROWS,
    browser: bool = True,
    **options: Any,
) -> Page:
    """Open a page in the browser where models follow the hand.

    The page is served on 127.0.0.1 alone, under an address with a random token.

    Parameters
    ----------
    table : table, default=None
        Whatever :func:`separatrix.scan` takes; or a model file, or the folder of a study.
    target : str, default=None
        The column to predict; the page can choose another.
    model : path, default=None
        A model file or the folder of a study, for the view of a model.
    rows : int, default=2000
        Rows of the page: a larger table is sampled.
    browser : bool, default=True
        Whether to open the browser; else the address is only returned.
    **options
        Further parameters of :func:`separatrix.scan`.

    Returns
    -------
    Page
        The page with its ``address``; ``close()`` ends it.

    See Also
    --------
    scan : Read a table.
    run_study : Compare models of a table.

    Examples
    --------
    >>> import separatrix as sx
    >>> page = sx.explore({"x": [1.0, 2.0], "y": ["a", "b"]}, target="y", browser=False)
    >>> page.address.startswith("http://127.0.0.1:")
    True
    >>> page.close()
    """
    if table is None and model is None:
        raise InputError("There is nothing to explore.", remedy="Give a table or a model.")
    stored = stored_at(table)
    shown = None if table is None or stored else described(table, target, rows, options)
    model = stored if model is None else model
    page = Page(Session(shown, None if model is None else str(Path(model)))).start()
    return page.open() if browser else page


def described(table: Any, target: str | None, rows: int, options: dict[str, Any]) -> Table:
    """The rows of the page, with the name of the table and the Python that reads it."""
    from dataclasses import replace

    read = read_table(table, target, rows, **options)
    text = isinstance(table, str | Path)
    name = Path(str(table)).name if text else "table"
    given = [repr(str(table)) if text else "table"]
    given += [] if target is None else [f"target={target!r}"]
    given += [] if rows == ROWS else [f"rows={rows}"]
    given += [f"{key}={value!r}" for key, value in options.items() if value]
    words = (str(table), *_words(options)) if text else ()
    return replace(read, name=name, source=f"read_table({', '.join(given)})", words=words)


def _words(options: dict[str, Any]) -> list[str]:
    """Parameters of :func:`separatrix.scan` as options of the command line."""
    found: list[str] = []
    for name, value in options.items():
        if name == "kinds":
            found += [word for pair in (value or {}).items() for word in ("--kind", "=".join(pair))]
        elif name == "limits":
            found += [word for k, v in (value or {}).items() for word in ("--limit", f"{k}={v:g}")]
        elif isinstance(value, bool):
            found.append(f"--{name}" if value else f"--no-{name}")
        elif isinstance(value, list | tuple):
            found += [word for item in value for word in (f"--{name}", str(item))]
        elif value is not None:
            found += [f"--{name}", str(value)]
    return found
