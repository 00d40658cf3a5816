"""Numbers and names of scores as text, the same in plots and on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class ScoreInfo:
    """A score: short name, description, direction, and whether it is a rate."""

    short: str
    description: str
    higher_is_better: bool = False
    is_rate: bool = False

    @property
    def within_sentence(self) -> str:
        """The short name in the middle of a sentence: log loss, but RMSE."""
        second = self.short[1:2]
        return self.short[0].lower() + self.short[1:] if second.islower() else self.short


SCORES = {
    "rmse": ScoreInfo("RMSE", "root mean squared error"),
    "mse": ScoreInfo("MSE", "mean squared error"),
    "mae": ScoreInfo("MAE", "mean absolute error"),
    "r2": ScoreInfo("R²", "coefficient of determination (R²)", True),
    "accuracy": ScoreInfo("Accuracy", "accuracy", True, True),
    "balanced_accuracy": ScoreInfo("Balanced accuracy", "mean recall over the classes", True, True),
    "balanced_error": ScoreInfo("Balanced error", "mean error rate over the classes", False, True),
    "precision": ScoreInfo("Precision", "proportion of right answers", True, True),
    "recall": ScoreInfo("Recall", "proportion of rows found", True, True),
    "error": ScoreInfo("Error rate", "error rate", False, True),
    "auc": ScoreInfo("AUC", "area under the ROC curve", True),
    "f1": ScoreInfo("F1", "harmonic mean of precision and recall", True),
    "log_loss": ScoreInfo("Log loss", "mean negative log-likelihood"),
    "mean_cost": ScoreInfo("Mean cost", "mean cost of the rows answered"),
    "cost": ScoreInfo("Cost", "mean cost, rejections included"),
    "nlpd": ScoreInfo("NLPD", "negative log predictive density"),
    "interval_coverage": ScoreInfo("Within", "proportion of targets within", True, True),
    "coverage": ScoreInfo("Coverage", "proportion of rows answered", True, True),
    "risk": ScoreInfo("Risk", "mean cost of the rows answered"),
}

_ALIASES = {
    "r²": "r2",
    "r2_score": "r2",
    "error_rate": "error",
    "misclassification": "error",
    "roc_auc": "auc",
    "area": "auc",
    "logloss": "log_loss",
}


def score_info(name: str) -> ScoreInfo:
    """The score of this name; of an unknown one, lower is better."""
    key = name.strip().lower().replace(" ", "_").replace("-", "_")
    return SCORES.get(_ALIASES.get(key, key), ScoreInfo(name, name))


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits and a typographic minus sign."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    size = abs(value)
    if size == 0:
        return "0"
    if value == round(value) and size < 1e7:
        text = f"{value:,.0f}"
    elif 1e-4 <= size < 1e7:
        text = f"{value:,.{max(0, digits - 1 - math.floor(math.log10(size)))}f}"
    else:
        lead, power = f"{value:.{digits - 1}e}".split("e")
        text = f"{lead}e{int(power)}"
    return text.replace("-", "−")


def exact(value: float) -> str:
    """A number with up to six significant digits, trailing zeros removed."""
    text = f"{value:,.6g}" if 1e-4 <= abs(value) < 1e7 or value == 0 else f"{value:.6g}"
    return text.replace("-", "−")


def value_text(value: float, display: str = "") -> str:
    """A value of a column: dates (days since 1970) as dates, years without a separator."""
    if not math.isfinite(value) or not display:
        return exact(value) if math.isfinite(value) else number(value)
    if display == "year":
        return f"{value:.0f}" if value == round(value) else f"{value:.1f}"
    try:
        if display == "date":
            return (EPOCH + timedelta(days=round(value))).strftime("%Y-%m-%d")
        if display == "datetime":
            return (EPOCH + timedelta(days=value)).strftime("%Y-%m-%d %H:%M")
    except OverflowError:
        return exact(value)
    if display == "time":
        return (EPOCH + timedelta(seconds=value % 86_400)).strftime("%H:%M:%S")
    return span_text(value / 86_400)


def span_text(days: float) -> str:
    """A length of time in the unit that suits it."""
    for size, unit in ((2 * 365.25, "years"), (2.0, "days"), (2 / 24, "hours"), (2 / 1440, "min")):
        if abs(days) >= size:
            return f"{number(days / (size / 2), 3)} {unit}"
    return f"{number(days * 86_400, 3)} s"


def spread_text(value: float, display: str = "") -> str:
    """A standard deviation of a column: of dates and times, a length of time."""
    if display in ("date", "datetime") and math.isfinite(value):
        return span_text(value)
    if display in ("time", "duration") and math.isfinite(value):
        return span_text(value / 86_400)
    return number(value)


def score_text(value: float, name: str) -> str:
    """A score as text: rates in per cent, others to four digits or three decimals."""
    known = score_info(name)
    if not math.isfinite(value):
        return number(value)
    if known.is_rate:
        return f"{round(100 * value, 1) + 0.0:.1f} %".replace("-", "−")
    if known.higher_is_better:
        return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")
    return number(value, 4)


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """``1 row``, ``1,200 rows``."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def join_words(words: Sequence[str], joint: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    items = list(words)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {joint} {items[-1]}"
