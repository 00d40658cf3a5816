"""What a study of a stream starts from: class moments by part, and a sample of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.encoding import Encoding
from separatrix.rows.mapped import EncodedRows, MappedRows, SelectedParts
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Schema, Term, Terms
from separatrix.statistics.by_class.parts import ClassMomentRows, joint_moments, without_part
from separatrix.statistics.class_preparation import MomentsByClass, prepare_classes
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import design_moments
from separatrix.study.classes.streaming.passes import Passes
from separatrix.study.folds import TEST


@dataclass(frozen=True)
class ClassData:
    """Labeled ``rows`` that can be read again, their moments by part and class, and samples.

    ``sample`` are rows of the folds, ``test_sample`` of the test part; ``simulated`` says that rows
    were drawn from the moments, which are all that is left of a table.
    """

    rows: Rows
    schema: Schema
    parts: Parts
    groups: Grouped[MomentsByClass]
    sample: Block
    test_sample: Block
    simulated: bool = False

    @cached_property
    def folds(self) -> list[int]:
        """Labels of the folds."""
        return sorted(part for part in self.groups.parts if part != TEST)

    @cached_property
    def training(self) -> dict[Term, Moments]:
        """Moments of every class over all folds."""
        return without_part(self.groups, TEST)

    @cached_property
    def targets(self) -> Terms:
        """The classes of the training rows, in order."""
        return Terms(tuple(term for term, m in self.training.items() if m.count))

    @property
    def classes(self) -> NDArray[Any]:
        """Names of the classes, in order."""
        return np.array([str(term.level) for term in self.targets], dtype=object)

    @cached_property
    def total(self) -> Moments:
        """Moments of all training rows."""
        return joint_moments(self.training)

    @cached_property
    def test(self) -> Moments:
        """Moments of all test rows."""
        return joint_moments(self.groups.parts.get(TEST, MomentsByClass()).parts)

    @cached_property
    def encoding(self) -> Encoding:
        """The design of all training rows, which models that tune share over the folds."""
        return prepare_classes(self.class_rows()).encoding

    @cached_property
    def design(self) -> Moments:
        """Moments of the design of all training rows."""
        return design_moments(self.encoding, self.total)

    def class_rows(self, left_out: int = TEST) -> ClassMomentRows:
        """Training rows without a fold, as moments of their classes."""
        return ClassMomentRows(self.schema, without_part(self.groups, TEST, left_out))

    def weight(self, fold: int) -> float:
        """The weight of a fold."""
        return float(sum(m.weight for m in self.groups.parts[fold].parts.values()))

    def training_rows(self) -> EncodedRows:
        """The encoded rows of all folds, read again at every pass."""
        selected = MappedRows(self.rows, SelectedParts(frozenset(self.folds)))
        return EncodedRows(selected, self.encoding)

    def announce(self, purpose: str) -> None:
        """Say what the next passes over a stream are for."""
        if isinstance(self.rows, Passes):
            self.rows.named(purpose)

    @property
    def n_passes(self) -> int:
        """Passes over the rows so far."""
        return self.rows.count if isinstance(self.rows, Passes) else 0

    def require_classes(self) -> None:
        """Refuse folds whose training rows lack a class: nothing could be learned about it."""
        for fold in self.folds:
            known = without_part(self.groups, TEST, fold)
            for term in self.targets:
                if term not in known or not known[term].weight:
                    raise InputError(
                        f"The training rows of fold {fold} have no row of class {term.level}.",
                        remedy="Use fewer folds, or more rows of the class.",
                    )

    def codes(self, block: Block) -> Ints:
        """Class codes among ``classes``; −1 for a class that training does not have."""
        found = block.indicators(self.targets)
        codes = np.asarray(found.argmax(axis=1), dtype=np.int64)
        return np.where(found.max(axis=1, initial=0.0) > 0.5, codes, -1)


def folds_in(block: Block, schema: Schema) -> Iterator[tuple[int, Ints, InMemory]]:
    """The folds that occur in a raw block: label, positions, rows."""
    assert block.parts is not None, "the rows have no parts"
    for fold in np.unique(block.parts):
        if fold != TEST:
            at = np.flatnonzero(block.parts == fold)
            yield int(fold), at, InMemory(schema, block.take(at))


def fold_weights(data: ClassData) -> Floats:
    """The weights of the folds, in their order."""
    return np.array([data.weight(fold) for fold in data.folds])
