"""Own time and peers' in one run: best of several, interleaved, printed as ratios.

Interleaving matters on a noisy machine: a slow minute then hurts every runner alike.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Result:
    name: str
    seconds: float
    note: str


def race(
    title: str,
    own: tuple[str, Callable[[], Any]],
    peers: dict[str, Callable[[], Any]],
    *,
    rounds: int = 3,
    peer_rounds: int = 2,
    note: Callable[[Any], str] = lambda _: "",
    target: float | None = None,
) -> list[Result]:
    """Run all, print a table, return it. ``target`` is the ratio to the fastest peer hoped for."""
    runners = {own[0]: own[1], **peers}
    best = dict.fromkeys(runners, float("inf"))
    notes: dict[str, str] = {}
    for turn in range(max(rounds, peer_rounds)):
        for name, run in runners.items():
            if turn >= (rounds if name == own[0] else peer_rounds):
                continue
            gc.collect()
            start = time.perf_counter()
            outcome = run()
            best[name] = min(best[name], time.perf_counter() - start)
            notes[name] = note(outcome)
            del outcome
    return show(title, own[0], [Result(n, best[n], notes[n]) for n in runners], target)


def show(title: str, own: str, results: list[Result], target: float | None) -> list[Result]:
    """Print one race as a table of ratios."""
    mine = next(r.seconds for r in results if r.name == own)
    fastest = min((r.seconds for r in results if r.name != own), default=mine)
    print(f"\n## {title}")
    print(f"{'':<44}{'seconds':>9}{'ratio':>9}  note")
    for r in sorted(results, key=lambda r: r.seconds):
        print(f"{r.name:<44}{r.seconds:>9.3f}{r.seconds / mine:>8.1f}×  {r.note}")
    if target is not None:
        verdict = "reached" if fastest / mine >= target else "MISSED"
        print(f"target {target:g}× against the fastest peer: {fastest / mine:.1f}× — {verdict}")
    return results
