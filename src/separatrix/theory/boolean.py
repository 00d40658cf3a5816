"""Boolean functions of d inputs that agree with examples: 2^(2^d − N) after N of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import product
from typing import Any, ClassVar

import numpy as np

from separatrix.arrays import Floats
from separatrix.messages import InputError
from separatrix.theory.hypothesis_class import Hypothesis, HypothesisClass, Labels, check_count


@dataclass(frozen=True)
class BooleanFunction(Hypothesis):
    """A function of d inputs by its truth table; inputs in the order 00, 01, 10, 11.

    ``number`` counts the functions from 1 in the order of their tables, the output for the first
    input as the highest digit: of two inputs, h₁ is always 0, h₂ is AND and h₁₆ is always 1.
    """

    n_inputs: int
    number: int

    @property
    def outputs(self) -> tuple[int, ...]:
        """The outputs for the inputs 0…00, 0…01, …, 1…11."""
        rows = 2**self.n_inputs
        return tuple((self.number - 1) >> (rows - 1 - r) & 1 for r in range(rows))

    def contains(self, points: Any) -> Labels:
        """The outputs for n x d inputs."""
        rows = 2**self.n_inputs
        codes = _codes(np.asarray(points), self.n_inputs)
        return np.array([(self.number - 1) >> (rows - 1 - r) & 1 == 1 for r in codes])

    def __str__(self) -> str:
        return f"h{self.number}: {''.join(map(str, self.outputs))}"


class BooleanFunctions(HypothesisClass):
    """All Boolean functions of d inputs that agree with N examples.

        2^(2^d)  without examples,    2^(2^d − N)  after N different ones,    0 if two contradict

    Every example halves what is left, and each input that was not seen may still have either
    output: without an assumption about the function, nothing is learned about other inputs.

    Parameters
    ----------
    X : array-like of shape (n, d), default=None
        Inputs of the examples, 0 or 1; equal rows are one example.
    y : array-like of shape (n,), default=None
        Their outputs, 0 or 1.
    n_inputs : int, default=None
        The number of inputs d, where there are no examples to read it from.

    Attributes
    ----------
    n_hypotheses : int
        The number of functions that agree, exactly.
    n_examples : int
        The number N of different examples.
    contradiction : tuple of two ints or None
        Row numbers, from 1, of equal inputs with different outputs.
    names : tuple of str
        Names of the inputs: columns of a data frame, or x1, x2, ….

    See Also
    --------
    pac_sample_size : How many examples a finite class needs.
    Predicates : Any finite list of hypotheses.

    Notes
    -----
    Iterating lists the functions by truth table, one at a time. :meth:`shortest` and
    :meth:`by_formula` speak of one language: disjunctive normal form, an OR of ANDs of inputs or
    their negations. Shorter is fewer literals (inputs named, counted as often as they are), then
    fewer terms; in another language another function may be the shortest.

    Examples
    --------
    The example (0, 1) → 0 removes half of the sixteen functions of two inputs:

    >>> import separatrix as sx
    >>> left = sx.BooleanFunctions([[0, 1]], [0])
    >>> left.n_hypotheses, [h.number for h in left]
    (8, [1, 2, 3, 4, 9, 10, 11, 12])
    >>> [str(f) for f in left.by_formula()][:4]
    ['false', '¬x2', 'x1', '¬x1 ∧ ¬x2']
    >>> more = sx.BooleanFunctions([[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 0]], [1, 1, 1, 0])
    >>> more.n_hypotheses, str(more.shortest())
    (16, '¬x1 ∨ x2')
    """

    name: ClassVar[str] = "Boolean functions"

    dimension: int

    def __init__(self, X: Any = None, y: Any = None, *, n_inputs: int | None = None) -> None:
        inputs, outputs = _examples(X, y, n_inputs)
        self.dimension = d = inputs.shape[1]
        columns = getattr(X, "columns", None)
        self.names = tuple(f"x{j + 1}" for j in range(d)) if columns is None else tuple(
            str(name) for name in columns
        )  # fmt: skip
        self.examples: dict[int, bool] = {}
        self.contradiction: tuple[int, int] | None = None
        first: dict[int, int] = {}
        for row, (code, output) in enumerate(zip(_codes(inputs, d), outputs, strict=True)):
            earlier = first.setdefault(code, row)
            if self.examples.setdefault(code, bool(output)) != output:
                self.contradiction = self.contradiction or (earlier + 1, row + 1)
        self.n_examples = len(self.examples)
        free = 2**d - self.n_examples
        self.n_hypotheses = 0 if self.contradiction else 2**free
        if self.contradiction is None:
            self.bound = free
            self.argument = f"{free} inputs have no example; on the others all functions agree."

    def __iter__(self) -> Iterator[BooleanFunction]:
        """The functions by truth table."""
        if self.contradiction is not None:
            return
        rows = 2**self.dimension
        place = [rows - 1 - r for r in range(rows)]
        free = [place[r] for r in reversed(range(rows)) if r not in self.examples]
        fixed = sum(1 << place[r] for r, output in self.examples.items() if output)
        for count in range(self.n_hypotheses):
            table = sum(1 << bit for i, bit in enumerate(free) if count >> i & 1)
            yield BooleanFunction(self.dimension, 1 + fixed + table)

    def __contains__(self, function: BooleanFunction) -> bool:
        table, rows = function.number - 1, 2**self.dimension
        return self.contradiction is None and all(
            (table >> (rows - 1 - r) & 1 == 1) == output for r, output in self.examples.items()
        )

    def shortest(self, *, max_work: float = 1e6) -> Formula:
        """The shortest formula in disjunctive normal form that agrees with the examples.

        The prime implicants of Quine and McCluskey with every input that was not seen taken as
        either, then the cheapest cover of the positive examples by branch and bound. Where more
        than ``max_work`` nodes would be searched, the best so far, with ``proved`` False.
        """
        self._refuse_contradiction()
        d = self.dimension
        sides = [[_bits(r, d) for r, out in self.examples.items() if out == y] for y in (1, 0)]
        terms, proved = cheapest_cover(prime_terms(*sides), sides[0], max_work)
        return Formula(terms, self.names, proved)

    def by_formula(self) -> Iterator[Formula]:
        """Every function once, by its shortest formula, shortest formulas first.

        A search from the constant 0 that adds one term at a time, the shortest formula next, for
        up to 8 inputs. The first results come at once; there may be very many.
        """
        self._refuse_contradiction()
        d = self.dimension
        if d > 8:  # inputs at most of functions that are ordered by formula
            raise InputError(
                f"Functions of {d} inputs are too many to be ordered by their formulas.",
                remedy="Use shortest() for the first of them.",
            )
        rows = [_bits(r, d) for r in range(2**d)]
        on, off = (
            sum(1 << r for r, output in self.examples.items() if output == y) for y in (1, 0)
        )
        terms = []
        for care in range(2**d):
            for value in (v for v in range(2**d) if v & ~care == 0):
                term = Conjunction(care, value)
                table = sum(1 << r for r, x in enumerate(rows) if term.holds(x))
                if not table & off:
                    terms.append((term, table))
        return self._cheapest_first(terms, on)

    def _cheapest_first(self, terms: list[tuple[Conjunction, int]], on: int) -> Iterator[Formula]:
        """Dijkstra's algorithm over truth tables; an edge adds a term."""
        queue: list[tuple[int, int, int, tuple[Conjunction, ...]]] = [(0, 0, 0, ())]
        seen: set[int] = set()
        while queue:
            literals, count, table, chosen = heappop(queue)
            if table in seen:
                continue
            seen.add(table)
            if table & on == on:
                yield Formula(chosen, self.names)
            for term, covered in terms:
                wider = table | covered
                if wider not in seen:
                    cost = literals + term.n_literals
                    heappush(queue, (cost, count + 1, wider, (*chosen, term)))

    def consistent(self, points: Floats, labels: Labels) -> BooleanFunction | None:
        """The first function that has these outputs as well, by truth table."""
        known = dict(self.examples)
        for code, output in zip(_codes(points, self.dimension), labels, strict=True):
            if known.setdefault(code, bool(output)) != output:
                return None
        rows = 2**self.dimension
        table = sum(1 << (rows - 1 - r) for r, output in known.items() if output)
        return None if self.contradiction else BooleanFunction(self.dimension, 1 + table)

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Inputs, all equally likely."""
        return rng.integers(0, 2, (n, self.dimension)).astype(float)

    def truth(self, rng: np.random.Generator) -> BooleanFunction:
        """One of the functions, all equally likely."""
        self._refuse_contradiction()
        rows = 2**self.dimension
        outputs = rng.integers(0, 2, rows).tolist()
        outputs = [int(self.examples.get(r, bool(v))) for r, v in enumerate(outputs)]
        number = int("".join(map(str, outputs)), 2)
        return BooleanFunction(self.dimension, 1 + number)

    def uniform_error(self, truth: BooleanFunction, boolean_function: BooleanFunction) -> float:
        """Proportion of the inputs on which they differ."""
        return float(
            ((truth.number - 1) ^ (boolean_function.number - 1)).bit_count() / 2**self.dimension
        )

    def configurations(self, n: int) -> list[Floats]:
        """Inputs without an example, and then one with: which ones does not matter."""
        every = list(product((0.0, 1.0), repeat=self.dimension))
        free = [x for r, x in enumerate(every) if r not in self.examples]
        seen = [x for r, x in enumerate(every) if r in self.examples]
        return [np.array((free + seen)[:n])] if n <= len(every) else []

    def _refuse_contradiction(self) -> None:
        if self.contradiction is not None:
            first, other = self.contradiction
            raise InputError(
                f"No function agrees with the examples: rows {first} and {other} have the same "
                "inputs and different outputs.",
                remedy="Remove one of them.",
            )

    def __repr__(self) -> str:
        return f"BooleanFunctions({self.dimension} inputs, {self.n_examples} examples)"


def _examples(X: Any, y: Any, n_inputs: int | None) -> tuple[Any, Labels]:
    """Inputs and outputs as 0 and 1, of a table or of no row at all."""
    if (X is None) != (y is None):
        raise InputError("Examples have inputs and outputs.", remedy="Give both X and y.")
    if X is None:
        if n_inputs is None:
            raise InputError("There are no examples.", remedy="Give X and y, or n_inputs.")
        d = check_count(n_inputs, "n_inputs")
        inputs, outputs = np.zeros((0, d), dtype=np.int64), np.zeros(0)
    else:
        inputs, outputs = np.asarray(X), np.asarray(y)
        if inputs.ndim != 2 or not inputs.shape[1] or outputs.shape != (len(inputs),):
            raise InputError(
                f"The inputs have shape {inputs.shape} and the outputs {outputs.shape}.",
                remedy="Give n x d inputs and n outputs.",
            )
        d = inputs.shape[1]
        if n_inputs is not None and n_inputs != d:
            raise InputError(f"n_inputs is {n_inputs}, and the examples have {d} inputs.")
    for what, values in (("inputs", inputs), ("outputs", outputs)):
        wrong = ~np.isin(values, (0, 1))
        if wrong.any():
            place = np.argwhere(wrong)[0]
            value = values[tuple(place)]
            raise InputError(f"The {what} must be 0 or 1, not {value!r}.", row=int(place[0]) + 1)
    max_inputs = 20  # inputs at most of a function whose truth table is written out
    if d > max_inputs:
        raise InputError(
            f"{d} inputs have truth tables of 2^{d} rows.",
            remedy=f"Give {max_inputs} inputs at most.",
        )
    return inputs.astype(np.int64), outputs.astype(bool)


def _codes(inputs: Any, d: int) -> list[int]:
    """The row of the truth table for each input: the first input is the highest digit."""
    powers = 1 << np.arange(d)[::-1]
    return [int(c) for c in np.asarray(inputs, dtype=np.int64) @ powers]


def _bits(row: int, d: int) -> int:
    """The input of a row of the truth table, with the first input as the lowest bit."""
    return sum(1 << j for j in range(d) if row >> (d - 1 - j) & 1)


# -------------------------------------------------------------------------------------------------
# Formulas in disjunctive normal form: an OR of terms, each an AND of inputs or their negations.


@dataclass(frozen=True, order=True)
class Conjunction:
    """The inputs with x & care = value; bit j of both is input j (the first is bit 0)."""

    care: int
    value: int

    @property
    def n_literals(self) -> int:
        """Number of inputs that the term names."""
        return self.care.bit_count()

    def holds(self, x: int) -> bool:
        """Whether the input x, as bits, fulfils the term."""
        return x & self.care == self.value

    def text(self, names: Sequence[str]) -> str:
        """Inputs joined by ∧, negated ones with ¬."""
        literals = [
            name if self.value >> j & 1 else f"¬{name}"
            for j, name in enumerate(names)
            if self.care >> j & 1
        ]
        return " ∧ ".join(literals) or "true"


@dataclass(frozen=True)
class Formula(Hypothesis):
    """An OR of terms, with the names of the inputs.

    ``proved`` says whether no formula of fewer literals, or as many and fewer terms, agrees with
    the same examples.
    """

    terms: tuple[Conjunction, ...]
    names: tuple[str, ...]
    proved: bool = True

    @property
    def n_literals(self) -> int:
        """Number of inputs named, counted as often as they are."""
        return sum(term.n_literals for term in self.terms)

    def contains(self, points: Any) -> Labels:
        """Which of the inputs (n x d values of 0 and 1) fulfil the formula."""
        x = np.asarray(points)
        inside = np.zeros(len(x), dtype=bool)
        for term in self.terms:
            cared = [j for j in range(len(self.names)) if term.care >> j & 1]
            values = [term.value >> j & 1 for j in cared]
            inside |= (x[:, cared] == values).all(axis=1)
        return inside

    def __str__(self) -> str:
        texts = [term.text(self.names) for term in self.terms]
        if len(texts) > 1:
            texts = [
                f"({text})" if term.n_literals > 1 else text
                for term, text in zip(self.terms, texts, strict=True)
            ]
        return " ∨ ".join(texts) or "false"


def prime_terms(positive: Sequence[int], negative: Sequence[int]) -> list[Conjunction]:
    """Terms that hold for a positive example and for no negative one, and name no input in vain.

    A term that holds for p excludes the negative example n if it names an input in which they
    differ. So the prime terms of p are the minimal sets of inputs that meet all these differences:
    the prime implicants of Quine and McCluskey, examples that were not seen taken as either.
    """
    terms: dict[Conjunction, None] = {}
    for p in positive:
        for care in minimal_transversals(p ^ n for n in negative):
            terms[Conjunction(care, p & care)] = None
    return list(terms)


def minimal_transversals(sets: Iterable[int]) -> list[int]:
    """The minimal sets that meet every given set, all as bits (Berge)."""
    transversals = [0]
    for members in sorted(set(sets), key=int.bit_count):
        meet = [t for t in transversals if t & members]
        bits = [1 << j for j in range(members.bit_length()) if members >> j & 1]
        wider = {t | bit for t in transversals if not t & members for bit in bits}
        transversals = meet + [t for t in wider if not any(m & ~t == 0 for m in meet)]
    return transversals


# -------------------------------------------------------------------------------------------------
# The cheapest set of terms that holds for every positive example: exact, by branch and bound.
#
# min Σ (literals, 1) over sets of terms that cover all examples,     literals first, then terms


Cost = tuple[int, int]


def cheapest_cover(
    terms: Sequence[Conjunction], positive: Sequence[int], max_work: float
) -> tuple[tuple[Conjunction, ...], bool]:
    """Terms of least cost, and whether that is proved; ``max_work`` bounds the nodes searched."""
    masks = [sum(1 << i for i, p in enumerate(positive) if term.holds(p)) for term in terms]
    search = _CoverSearch(*_filter_dominated(terms, masks), len(positive), max_work)
    search.branch(0, (0, 0), ())
    chosen = tuple(sorted(search.best, key=lambda t: (t.n_literals, t.care, t.value)))
    return chosen, search.left >= 0


def _filter_dominated(
    terms: Sequence[Conjunction], masks: list[int]
) -> tuple[list[Conjunction], list[int]]:
    """Terms without those that cover no more than another of no higher cost."""
    order = sorted(range(len(terms)), key=lambda i: (terms[i].n_literals, -masks[i].bit_count()))
    chosen: list[int] = []
    for i in order:
        if not any(masks[i] & ~masks[j] == 0 for j in chosen):
            chosen.append(i)
    return [terms[i] for i in chosen], [masks[i] for i in chosen]


class _CoverSearch:
    """Depth first, on the example that the fewest terms cover; cheap terms first."""

    def __init__(self, terms: list[Conjunction], masks: list[int], n: int, max_work: float) -> None:
        self.terms, self.masks, self.all = terms, masks, (1 << n) - 1
        self.covering = [[k for k, m in enumerate(masks) if m >> i & 1] for i in range(n)]
        self.left = max_work
        self.best = self._greedy()
        self.bound = _cost(self.best)

    def _greedy(self) -> tuple[Conjunction, ...]:
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

    def branch(self, covered: int, cost: Cost, chosen: tuple[Conjunction, ...]) -> None:
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


def _cost(terms: Sequence[Conjunction]) -> Cost:
    return sum(term.n_literals for term in terms), len(terms)
