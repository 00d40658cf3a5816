"""The choice among contenders of a stream: each under its best calibration, then paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from separatrix.study.candidates import Candidate
from separatrix.study.classes.calibration import calibration_summary
from separatrix.study.classes.compare import SECONDARY
from separatrix.study.classes.streaming.comparison import (
    OWN,
    Calibratable,
    OutOfFoldSums,
    PairedSums,
)
from separatrix.study.comparison.choice import choose_paired
from separatrix.study.result import CalibrationCheck, Choice, CrossValidatedScore, Entry

NAN = float("nan")


@dataclass(frozen=True)
class ComparedStream:
    """Contenders, and the sums of their losses out of fold."""

    contenders: list[Calibratable]
    sums: OutOfFoldSums
    metric: str

    @property
    def secondary(self) -> str:
        """The metric that is shown beside the one that decides."""
        return SECONDARY.get(self.metric, "error")

    @cached_property
    def checks(self) -> dict[str, CalibrationCheck]:
        """Whether a calibration helps, by candidate; none where none could be tried."""
        found = {one.name: self._check(one) for one in self.contenders}
        return {name: check for name, check in found.items() if check is not None}

    @cached_property
    def columns(self) -> dict[str, str]:
        """Candidate and calibration as they are compared."""
        return {one.name: f"{one.name} {self.method(one) or OWN}" for one in self.contenders}

    def method(self, one: Calibratable) -> str | None:
        """The calibration of a contender; None where its own probabilities are used."""
        check = self.checks.get(one.name)
        if check is not None:
            return check.method
        return None if one.default in (OWN, "") else one.default

    def _check(self, one: Calibratable) -> CalibrationCheck | None:
        default = None if one.default == OWN else one.default
        others = [method for method in one.maps if method != default]
        if not others or default == "":
            return None
        sums, own = self.sums, f"{one.name} {one.default}"
        before = sums.score(own, "log_loss")
        scores = {m: sums.score(f"{one.name} {m}", "log_loss") for m in others}
        best = min(scores, key=lambda method: scores[method].mean)
        gain = sums.difference(own, f"{one.name} {best}", "log_loss")
        helps = gain.mean > gain.standard_error and gain.mean > 0
        after, ece = scores[best], sums.calibration_error(own)
        return CalibrationCheck(
            best if helps else default,
            before,
            after if helps else before,
            ece,
            sums.calibration_error(f"{one.name} {best}") if helps else ece,
            gain.mean,
            gain.standard_error,
            scores,
            calibration_summary(
                best, before, after, gain.mean, gain.standard_error, default, helps
            ),
        )

    def choose(self, rule: str, refused: Mapping[str, str]) -> Choice:
        """The winner by paired differences."""
        notes = [*refused.values(), *(one.why for one in self.contenders if one.why)]
        return choose_paired(
            PairedSums(self.sums, self.metric, self.columns),
            PairedSums(self.sums, self.secondary, self.columns),
            metric=self.metric,
            rule=rule,
            refusal=notes[0] if notes else "",
        )

    def entries(self, wanted: Sequence[Candidate], refused: Mapping[str, str]) -> tuple[Entry, ...]:
        """The leaderboard."""
        known = {one.name: one for one in self.contenders}
        return tuple(
            self._entry(known[c.name])
            if c.name in known
            else Entry(c.name, c.label, self.metric, (), NAN, NAN, note=refused[c.name])
            for c in wanted
        )

    def _entry(self, one: Calibratable) -> Entry:
        candidate, column = one.contender.candidate, self.columns[one.name]
        first: CrossValidatedScore = CrossValidatedScore(self.metric, (), NAN, NAN)
        second = None
        if self.sums.has(column, self.metric):
            first = self.sums.score(column, self.metric)
        if self.sums.has(column, self.secondary):
            second = self.sums.score(column, self.secondary)
        return Entry(
            candidate.name,
            candidate.label,
            self.metric,
            first.folds,
            first.mean,
            first.standard_error,
            dict(one.contender.hyperparameters),
            note=one.why or one.contender.note,
            secondary=second,
            calibrated=self.method(one),
        )

    def named(self, name: str) -> Calibratable:
        """A contender by name."""
        return next(one for one in self.contenders if one.name == name)
