"""Who may ask: this page, in this browser, on this computer.

A request is refused unless its path starts with the token, its ``Host`` is 127.0.0.1 with our port
(a name that was pointed at this computer is not), it comes from the page itself (``Origin``,
``Sec-Fetch-Site``), and its body is small. The page may load nothing from elsewhere, and nothing
may frame it.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

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


class Refused(Exception):
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
            path = self._checked(scope)
            body = await _body(scope, receive)
        except Refused as refused:
            await _refuse(refused, send)
            return
        await self.inner({**scope, "path": path}, _given(body), _with_headers(send))

    def _checked(self, scope: Message) -> str:
        """The path behind the token of a request that may be answered."""
        headers = _headers(scope)
        own = f"127.0.0.1:{self.port}"
        if headers.get("host") != own:
            raise Refused(421, "This page answers on 127.0.0.1 alone.")
        token, _, path = scope["path"].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise Refused(403, "The address lacks the token that was printed at the start.")
        if scope["method"] not in ("GET", "POST"):
            raise Refused(405, "Only GET and POST are answered.")
        if headers.get("origin", f"http://{own}") != f"http://{own}":
            raise Refused(403, "The request comes from another page.")
        opened = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        here = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
        if not here and not (opened and headers.get("sec-fetch-dest") == "document"):
            raise Refused(403, "The request comes from another page.")
        if scope["method"] == "POST" and headers.get("content-type") != "application/json":
            raise Refused(415, "Questions are sent as application/json.")
        return f"/{path}"


def _headers(scope: Message) -> dict[str, str]:
    """Headers by name; one that occurs twice is no header that we can trust."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        if key in found and key in ("host", "origin", "content-type", "content-length"):
            raise Refused(400, f"There are two headers {key}.")
        found[key] = value.decode("latin-1")
    return found


async def _body(scope: Message, receive: Receive) -> bytes:
    """The whole body, counted as it comes: what was declared may be wrong."""
    declared = _headers(scope).get("content-length", "0")
    if not declared.isdigit() or int(declared) > LARGEST:
        raise Refused(413, f"The body is larger than {LARGEST:,} bytes.")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(400, "The request was broken off.")
        body += message.get("body", b"")
        if len(body) > LARGEST:
            raise Refused(413, f"The body is larger than {LARGEST:,} bytes.")
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


async def _refuse(refused: Refused, send: Send) -> None:
    text = refused.reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS.items()]
    headers += [(b"content-length", str(len(text)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
