"""The server of a page: 127.0.0.1, a free port, a token in the address."""

from __future__ import annotations

import json
import secrets
import traceback
import webbrowser
from pathlib import Path
from typing import Any, Self

from separatrix.exploration.points import POINTS
from separatrix.exploration.session import Session, stored_at
from separatrix.exploration.state import ViewState
from separatrix.exploration.table import ROWS, PageTable, read_table
from separatrix.exploration.views import load_views, questions_of
from separatrix.messages import InputError
from separatrix.serving.loopback import Guard, LoopbackServer, encode_error, encode_json

#: Bytes of a question: a megabyte holds every state of the page.
LARGEST = 1_000_000


class Page(LoopbackServer):
    """A page that is being served: its ``address``, until :meth:`close`.

    The address holds a random token, so it opens the page for whoever has it.
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        super().__init__(Guard(application(session), LARGEST, token=self.token), port)

    def open(self) -> Self:
        """Open the page in a browser."""
        webbrowser.open(self.address)
        return self

    def wait(self) -> None:
        """Serve until the thread ends, the terminal is closed, or the caller is interrupted."""
        load_views()  # the page asks soon, and the caller has nothing to do
        super().wait()

    def _repr_html_(self) -> str:
        return f'<a href="{self.address}" target="_blank" rel="noreferrer">{self.address}</a>'


def explore(
    table: Any = None,
    target: str | None = None,
    *,
    model: Any = None,
    rows: int = ROWS,
    browser: bool = True,
    port: int = 0,
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
    port : int, default=0
        The port of 127.0.0.1; 0 for any that is free.
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
    shown = None if table is None or stored else describe_table(table, target, rows, options)
    model = stored if model is None else model
    page = Page(Session(shown, None if model is None else str(Path(model))), port).start()
    return page.open() if browser else page


def describe_table(table: Any, target: str | None, rows: int, options: dict[str, Any]) -> PageTable:
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
    named = {"": repr(str(table)) if text else "table", **{k: v for k, v in options.items() if v}}
    return replace(
        read,
        name=name,
        source=f"read_table({', '.join(given)})",
        words=words,
        options=named if read.total is None else None,
    )


def _words(options: dict[str, Any]) -> list[str]:
    """Parameters of :func:`separatrix.scan` as options of the command line."""
    words: list[str] = []
    for name, value in options.items():
        if name == "kinds":
            words += [word for pair in (value or {}).items() for word in ("--kind", "=".join(pair))]
        elif name == "limits":
            words += [word for k, v in (value or {}).items() for word in ("--limit", f"{k}={v:g}")]
        elif isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
        elif isinstance(value, list | tuple):
            words += [word for item in value for word in (f"--{name}", str(item))]
        elif value is not None:
            words += [f"--{name}", str(value)]
    return words


# -------------------------------------------------------------------------------------------------
# Routes of the page: its files, what it is about, and the questions of its views.
#
#     GET  /              the page          GET  /page/NAME      a module, the style
#     GET  /session       names and kinds   POST /VIEW/QUESTION  an answer
# Files come from a list made at the start, so that no path of the disk is ever opened for a
#   request.


PAGE = Path(__file__).with_name("page")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}


def files() -> dict[str, tuple[bytes, str]]:
    """The files of the page by their address, with their types."""
    paths = sorted(path for path in PAGE.rglob("*") if path.suffix in TYPES)
    return {p.relative_to(PAGE).as_posix(): (p.read_bytes(), TYPES[p.suffix]) for p in paths}


def application(session: Session) -> Any:
    """The routes as a Starlette application."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    stored = files()

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in stored:
            return Response("There is no such file.", 404, media_type="text/plain")
        content, kind = stored[name]
        return Response(content, media_type=kind)

    async def about(_: Request) -> Response:
        return Response(encode_json(session.describe()), media_type="application/json")

    async def reply(request: Request) -> Response:
        view, question = request.path_params["view"], request.path_params["question"]
        body = await request.body()
        status, text = await run_in_threadpool(answer_question, session, view, question, body)
        return Response(text, status, media_type="application/json")

    return Starlette(
        routes=[
            Route("/", page),
            Route("/page/{name:path}", page),
            Route("/session", about),
            Route("/{view}/{question}", reply, methods=["POST"]),
        ]
    )


def answer_question(session: Session, view: str, question: str, body: bytes) -> tuple[int, str]:
    """Status and answer of a question; a refusal says why, a defect is printed where we started."""
    try:
        if question == "points" and view in POINTS:  # before anything is imported that fits
            return 200, encode_json(POINTS[view](session, ViewState(_parse_body(body))))
        load_views()
        function = questions_of(view).get(question)
        if function is None:
            return 404, encode_error(404, f"There is no question {view}/{question}.")
        return 200, encode_json(function(session, ViewState(_parse_body(body))))
    except InputError as problem:
        return 400, encode_error(400, str(problem))
    except Exception as defect:
        traceback.print_exc()
        return 500, encode_error(500, f"A defect of separatrix: {type(defect).__name__}.")


def _parse_body(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, or a number of thousands of digits
        raise InputError("the question is not JSON.") from None
