"""A server that this computer alone can ask: it listens on 127.0.0.1, and guards what it serves.

A request is refused unless its ``Host`` is 127.0.0.1 with our port (a name that was pointed at this
computer is not), its path starts with the token where there is one, it comes from a program or from
a page of ours (``Origin``, ``Sec-Fetch-Site``), and its body is small and comes soon. A page may
load nothing from elsewhere, and nothing may frame it.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import json
import math
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from separatrix.messages import InputError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

#: Seconds until the server must listen, and until a body must have come.
PATIENCE = 20.0
#: The only address that is listened to.
LOOPBACK = "127.0.0.1"
JSON = "application/json"

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

#: What a refusal is called, by its status.
CODES = {
    400: "bad_request",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "too_large",
    415: "unsupported_type",
    421: "wrong_host",
    500: "defect",
    503: "busy",
}


def encode_json(answer: Any) -> str:
    """An answer as JSON, with null for numbers that are not finite: JSON has none."""
    try:
        return json.dumps(answer, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return encode_json(_known(answer))


def _known(answer: Any) -> Any:
    if isinstance(answer, Mapping):
        return {name: _known(value) for name, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [_known(value) for value in answer]
    return None if isinstance(answer, float) and not math.isfinite(answer) else answer


def encode_error(status: int, reason: str, **about: Any) -> str:
    """A refusal as JSON: one sentence, and its code."""
    return encode_json({"error": reason, "code": CODES[status], **about})


class RequestRefused(Exception):
    """A request that is not answered: status and reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


# -------------------------------------------------------------------------------------------------
# Who may ask, and how much.


@dataclass
class Guard:
    """An ASGI application that passes on to ``inner`` what may be asked.

    ``token`` is the first part of every path, where there is one; ``largest`` the bytes of a body;
    ``types`` the content types of questions; ``names`` those by which this computer may be called;
    ``most`` the requests that are read or answered at a time. ``port`` is read at each request: it
    is known once the server listens.
    """

    inner: Application
    largest: int
    token: str = ""
    types: tuple[str, ...] = (JSON,)
    names: tuple[str, ...] = (LOOPBACK,)
    most: int = 64
    port: int = 0
    under_way: int = field(default=0, init=False)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other protocol is spoken: the server closes the connection
        self.under_way += 1
        try:
            path = self._check_scope(scope)
            body = await self._body(scope, receive)
            await self.inner({**scope, "path": path}, _given(body), _with_headers(send))
        except RequestRefused as refused:
            await _refuse(refused, send)
        finally:
            self.under_way -= 1

    def _check_scope(self, scope: Message) -> str:
        """The path behind the token of a request that may be answered."""
        headers = _headers(scope)
        if self.under_way > self.most:
            raise RequestRefused(503, "Too many questions are waiting: ask again later.")
        hosts = [f"{name}:{self.port}" for name in self.names]
        if headers.get("host") not in hosts:
            raise RequestRefused(421, f"This server answers to {' and '.join(hosts)} alone.")
        path = scope["path"].removeprefix("/")
        if self.token:
            token, _, path = path.partition("/")
            if not hmac.compare_digest(token.encode(), self.token.encode()):
                raise RequestRefused(403, "The address lacks the token printed at the start.")
        if scope["method"] not in ("GET", "POST"):
            raise RequestRefused(405, "Only GET and POST are answered.")
        origin = f"http://{headers['host']}"
        if headers.get("origin", origin) != origin:
            raise RequestRefused(403, "The request comes from another page.")
        opened = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        here = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
        if not here and not (opened and headers.get("sec-fetch-dest") == "document"):
            raise RequestRefused(403, "The request comes from another page.")
        if scope["method"] == "POST" and media_type(headers.get("content-type")) not in self.types:
            raise RequestRefused(415, f"Questions are sent as {' or '.join(self.types)}.")
        return f"/{path}"

    async def _body(self, scope: Message, receive: Receive) -> bytes:
        """The whole body, counted as it comes: what was declared may be wrong."""
        too_large = RequestRefused(413, f"The body is larger than {self.largest:,} bytes.")
        declared = _headers(scope).get("content-length", "0")
        if not declared.isdigit() or int(declared) > self.largest:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise RequestRefused(400, "The request was broken off.")
                    body += message.get("body", b"")
                    if len(body) > self.largest:
                        raise too_large
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise RequestRefused(408, "The body did not come in time.") from None


def media_type(header: str | None) -> str:
    """A content type without its parameters."""
    return (header or "").partition(";")[0].strip().lower()


def _headers(scope: Message) -> dict[str, str]:
    """Headers by name; one that occurs twice is not a header that we can trust."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        if key in headers and key in ("host", "origin", "content-type", "content-length"):
            raise RequestRefused(400, f"There are two headers {key}.")
        headers[key] = value.decode("latin-1")
    return headers


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
    text = encode_error(refused.status, refused.reason).encode()
    headers = [(b"content-type", JSON.encode()), *HEADERS.items()]
    headers += [(b"content-length", str(len(text)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


# -------------------------------------------------------------------------------------------------
# The server, in a thread of its own.


class LoopbackServer:
    """A guarded application, served on 127.0.0.1 from :meth:`start` until :meth:`close`."""

    def __init__(self, guard: Guard, port: int = 0) -> None:
        self.guard = guard
        self.port = port  # 0 is any that is free
        self._server: Any = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """The address that is served."""
        path = f"{self.guard.token}/" if self.guard.token else ""
        return f"http://{LOOPBACK}:{self.port}/{path}"

    def start(self) -> Self:
        """Listen, in a thread of its own."""
        import uvicorn

        listener = _listen(self.port)
        self.port = self.guard.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self.guard,
            log_level="critical",  # a connection that is closed while it waits is not an error
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
            raise InputError(f"Nothing could be served on {LOOPBACK}.")
        return self

    def wait(self) -> None:
        """Serve until the thread ends, the terminal is closed, or the caller is interrupted.

        Not every process hears (SIGHUP) that its terminal was closed; one that ignores it goes on.
        """
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
        return f"<{type(self).__name__} {self.address}>"


def _listen(port: int) -> socket.socket:
    try:
        listener = socket.create_server((LOOPBACK, port))
        # else an answer, sent as head and body, waits 40 ms for the client to confirm its head
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as problem:
        taken = problem.errno == errno.EADDRINUSE
        what = "is in use" if taken else f"cannot be listened to ({problem.strerror})"
        raise InputError(
            f"port {port} {what}.", remedy="Choose another --port, or 0 for any that is free."
        ) from problem


def _hung_up(descriptor: int) -> bool:
    """Whether a file is a terminal that was closed."""
    try:
        os.get_terminal_size(descriptor)
    except OSError as problem:
        return problem.errno == errno.EIO
    return False
