"""Routes of the page: its files, what it is about, and the questions of its views.

    GET  /              the page          GET  /page/NAME      a module, the style
    GET  /session       names and kinds   POST /VIEW/QUESTION  an answer
Files come from a list made at the start, so that no path of the disk is ever opened for a request.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from separatrix.exploration.session import Session
from separatrix.exploration.state import State, finite
from separatrix.exploration.views import load_views, questions_of
from separatrix.messages import InputError

PAGE = Path(__file__).with_name("page")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}


def files() -> dict[str, tuple[bytes, str]]:
    """The files of the page by their address, with their types."""
    found = sorted(path for path in PAGE.rglob("*") if path.suffix in TYPES)
    return {p.relative_to(PAGE).as_posix(): (p.read_bytes(), TYPES[p.suffix]) for p in found}


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
        status, text = await run_in_threadpool(answered, session, view, question, body)
        return Response(text, status, media_type="application/json")

    return Starlette(
        routes=[
            Route("/", page),
            Route("/page/{name:path}", page),
            Route("/session", about),
            Route("/{view}/{question}", reply, methods=["POST"]),
        ]
    )


def answered(session: Session, view: str, question: str, body: bytes) -> tuple[int, str]:
    """Status and answer of a question; a refusal says why, a defect is printed where we started."""
    try:
        load_views()
        function = questions_of(view).get(question)
        if function is None:
            return 404, _json({"error": f"There is no question {view}/{question}."})
        return 200, _json(function(session, State(_parsed(body))))
    except InputError as problem:
        return 400, _json({"error": str(problem)})
    except Exception as defect:
        traceback.print_exc()
        return 500, _json({"error": f"A defect of separatrix: {type(defect).__name__}."})


def _parsed(body: bytes) -> Any:
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
