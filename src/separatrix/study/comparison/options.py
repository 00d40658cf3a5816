"""What a study is asked for: metric, rule, effort, costs; and refusals of what it cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from separatrix.messages import InputError, check_option, did_you_mean
from separatrix.study.classes.metrics import CLASS_METRICS
from separatrix.study.comparison.choice import RULES
from separatrix.study.comparison.effort import Effort
from separatrix.study.tasks import CLASSIFICATION
from separatrix.study.uncertainty import LEVEL
from separatrix.study.validation.plan import Validation

#: What regression models may be compared by.
NUMBER_METRICS = ("rmse", "mae", "r2")


@dataclass(frozen=True)
class Options:
    """Metric, rule and effort of a study; ``costs`` and ``reject`` of classification alone.

    ``level`` is that of predictive intervals, of regression models that have them.
    ``reference`` asks for a reference that is no candidate, ``average`` for an average of the
    candidates where it is better than the best of them. ``validation`` says how they are judged.
    """

    metric: str | None = None
    rule: str = "one_se"
    effort: Effort = field(default_factory=Effort)
    costs: Any = None
    reject: float | None = None
    reference: bool = True
    average: bool = False
    level: float = LEVEL
    validation: Validation = field(default_factory=Validation)

    def metric_for(self, task: str) -> str:
        """The metric that decides, checked against the task."""
        check_option("rule", self.rule, RULES)
        known = CLASS_METRICS if task == CLASSIFICATION else NUMBER_METRICS
        if self.metric is None:
            return known[0]
        if self.metric not in known:
            kind = "Classifiers" if task == CLASSIFICATION else "Regression models"
            raise InputError(
                f"{kind} are not compared by {self.metric!r}.",
                remedy=did_you_mean(self.metric, known),
            )
        if self.metric == "cost" and self.costs is None and self.reject is None:
            raise InputError(
                "There are no costs to compare by.", remedy="Give `costs` (or `reject`) as well."
            )
        return self.metric

    def refuse_for(self, task: str) -> None:
        """An unknown metric, no level of intervals, or costs of classes where there are none."""
        self.metric_for(task)
        if not 0.0 < self.level < 1.0:
            raise InputError(
                f"`level` {self.level:g} is not between 0 and 1.", remedy="Use `level=0.9`, say."
            )
        if task == CLASSIFICATION:
            return
        for name, value in (("costs", self.costs), ("reject", self.reject)):
            if value is not None:
                raise InputError(
                    f"`{name}` is an option of classification, and the target is numeric.",
                    remedy="Leave it out, or use `task='classification'`.",
                )
