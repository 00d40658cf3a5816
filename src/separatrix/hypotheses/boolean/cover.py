"""The cheapest set of terms that holds for every positive example: exact, by branch and bound.

min Σ (literals, 1) over sets of terms that cover all examples,     literals first, then terms
"""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.hypotheses.boolean.formulas import Term

Cost = tuple[int, int]


def cheapest_cover(
    terms: Sequence[Term], positive: Sequence[int], max_work: float
) -> tuple[tuple[Term, ...], bool]:
    """Terms of least cost, and whether that is proved; ``max_work`` bounds the nodes searched."""
    masks = [sum(1 << i for i, p in enumerate(positive) if term.holds(p)) for term in terms]
    search = _Search(*_undominated(terms, masks), len(positive), max_work)
    search.branch(0, (0, 0), ())
    chosen = tuple(sorted(search.best, key=lambda t: (t.n_literals, t.care, t.value)))
    return chosen, search.left >= 0


def _undominated(terms: Sequence[Term], masks: list[int]) -> tuple[list[Term], list[int]]:
    """Terms without those that cover no more than another of no higher cost."""
    order = sorted(range(len(terms)), key=lambda i: (terms[i].n_literals, -masks[i].bit_count()))
    chosen: list[int] = []
    for i in order:
        if not any(masks[i] & ~masks[j] == 0 for j in chosen):
            chosen.append(i)
    return [terms[i] for i in chosen], [masks[i] for i in chosen]


class _Search:
    """Depth first, on the example that the fewest terms cover; cheap terms first."""

    def __init__(self, terms: list[Term], masks: list[int], n: int, max_work: float) -> None:
        self.terms, self.masks, self.all = terms, masks, (1 << n) - 1
        self.covering = [[k for k, m in enumerate(masks) if m >> i & 1] for i in range(n)]
        self.left = max_work
        self.best = self._greedy()
        self.bound = _cost(self.best)

    def _greedy(self) -> tuple[Term, ...]:
        covered, chosen = 0, []
        while covered != self.all:
            k = max(
                range(len(self.terms)),
                key=lambda k: (
                    (self.masks[k] & ~covered).bit_count() / (self.terms[k].n_literals + 1e-9)
                ),
            )
            covered |= self.masks[k]
            chosen.append(self.terms[k])
        return tuple(chosen)

    def branch(self, covered: int, cost: Cost, chosen: tuple[Term, ...]) -> None:
        """Better covers that contain the chosen terms."""
        self.left -= 1
        if self.left < 0:
            return
        if covered == self.all:
            self.best, self.bound = chosen, cost
            return
        least, example = self._lower_bound(covered)
        if _sum(cost, least) >= self.bound:
            return
        for k in self.covering[example]:
            more = _sum(cost, (self.terms[k].n_literals, 1))
            if more < self.bound:
                self.branch(covered | self.masks[k], more, (*chosen, self.terms[k]))

    def _lower_bound(self, covered: int) -> tuple[Cost, int]:
        """Examples without a common term cost the sum of their cheapest; the hardest example."""
        left = [i for i in range(len(self.covering)) if not covered >> i & 1]
        left.sort(key=lambda i: len(self.covering[i]))
        literals, terms, used = 0, 0, set[int]()
        for i in left:
            if used.isdisjoint(self.covering[i]):
                used.update(self.covering[i])
                literals += self.terms[self.covering[i][0]].n_literals  # terms are in this order
                terms += 1
        return (literals, terms), left[0]


def _sum(a: Cost, b: Cost) -> Cost:
    return a[0] + b[0], a[1] + b[1]


def _cost(terms: Sequence[Term]) -> Cost:
    return sum(term.n_literals for term in terms), len(terms)
