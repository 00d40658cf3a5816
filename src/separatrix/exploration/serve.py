"""The server of a page: 127.0.0.1, a free port, a token in the address."""

from __future__ import annotations

import errno
import hmac
import json
import os
import secrets
import signal
import socket
import threading
import traceback
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from separatrix.exploration.session import Session, stored_at
from separatrix.exploration.state import ViewState, finite
from separatrix.exploration.table import ROWS, PageTable, read_table
from separatrix.exploration.views import load_views, questions_of
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
            log_level="critical",  # a tab that is closed while it waits is not an error
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
    shown = None if table is None or stored else describe_table(table, target, rows, options)
    model = stored if model is None else model
    page = Page(Session(shown, None if model is None else str(Path(model)))).start()
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
    return replace(read, name=name, source=f"read_table({', '.join(given)})", words=words)


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
        return Response(_json(session.describe()), media_type="application/json")

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
        load_views()
        function = questions_of(view).get(question)
        if function is None:
            return 404, _json({"error": f"There is no question {view}/{question}."})
        return 200, _json(function(session, ViewState(_parse_body(body))))
    except InputError as problem:
        return 400, _json({"error": str(problem)})
    except Exception as defect:
        traceback.print_exc()
        return 500, _json({"error": f"A defect of separatrix: {type(defect).__name__}."})


def _parse_body(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, or a number of thousands of digits
        raise InputError("the question is not JSON.") from None


def _json(answer: Any) -> str:
    try:
        return json.dumps(answer, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except ValueError:  # a loss that is infinite, say: JSON has no such number
        return _json(_known(answer))


def _known(answer: Any) -> Any:
    """The answer with null for numbers that are not finite."""
    if isinstance(answer, Mapping):
        return {name: _known(value) for name, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [_known(value) for value in answer]
    return finite(answer) if isinstance(answer, float) else answer


# -------------------------------------------------------------------------------------------------
# Who may ask: this page, in this browser, on this computer.
#
# A request is refused unless its path starts with the token, its ``Host`` is 127.0.0.1 with our
# port (a name that was pointed at this computer is not), it comes from the page itself (``Origin``,
# ``Sec-Fetch-Site``), and its body is small. The page may load nothing from elsewhere, and nothing
# may frame it.


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

#: Bytes of a request's body.
LARGEST = 1_000_000

HEADERS = {
    b"content-security-policy": (
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class RequestRefused(Exception):
    """A request that is not answered: status and reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Guard:
    """An ASGI application that answers only what the page itself asks.

    ``port`` is read at each request: it is known once the server listens.
    """

    def __init__(self, inner: Application, token: str) -> None:
        self.inner, self.token, self.port = inner, token, 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other protocol is spoken: the server closes the connection
        try:
            path = self._check_scope(scope)
            body = await _body(scope, receive)
        except RequestRefused as refused:
            await _refuse(refused, send)
            return
        await self.inner({**scope, "path": path}, _given(body), _with_headers(send))

    def _check_scope(self, scope: Message) -> str:
        """The path behind the token of a request that may be answered."""
        headers = _headers(scope)
        origin = f"127.0.0.1:{self.port}"
        if headers.get("host") != origin:
            raise RequestRefused(421, "This page answers on 127.0.0.1 alone.")
        token, _, path = scope["path"].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise RequestRefused(403, "The address lacks the token that was printed at the start.")
        if scope["method"] not in ("GET", "POST"):
            raise RequestRefused(405, "Only GET and POST are answered.")
        if headers.get("origin", f"http://{origin}") != f"http://{origin}":
            raise RequestRefused(403, "The request comes from another page.")
        opened = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        here = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
        if not here and not (opened and headers.get("sec-fetch-dest") == "document"):
            raise RequestRefused(403, "The request comes from another page.")
        if scope["method"] == "POST" and headers.get("content-type") != "application/json":
            raise RequestRefused(415, "Questions are sent as application/json.")
        return f"/{path}"


def _headers(scope: Message) -> dict[str, str]:
    """Headers by name; one that occurs twice is not a header that we can trust."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        if key in headers and key in ("host", "origin", "content-type", "content-length"):
            raise RequestRefused(400, f"There are two headers {key}.")
        headers[key] = value.decode("latin-1")
    return headers


async def _body(scope: Message, receive: Receive) -> bytes:
    """The whole body, counted as it comes: what was declared may be wrong."""
    declared = _headers(scope).get("content-length", "0")
    if not declared.isdigit() or int(declared) > LARGEST:
        raise RequestRefused(413, f"The body is larger than {LARGEST:,} bytes.")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise RequestRefused(400, "The request was broken off.")
        body += message.get("body", b"")
        if len(body) > LARGEST:
            raise RequestRefused(413, f"The body is larger than {LARGEST:,} bytes.")
        if not message.get("more_body", False):
            return bytes(body)


def _given(body: bytes) -> Receive:
    """A receiver of a body that has been read already."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS.items()]
        await send(message)

    return guarded


async def _refuse(refused: RequestRefused, send: Send) -> None:
    text = refused.reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS.items()]
    headers += [(b"content-length", str(len(text)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
