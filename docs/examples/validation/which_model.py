"""
Which model for diabetes, and how much does the choice matter?
==============================================================

A study splits the table, compares models on the same folds, tunes them, opens the test rows once
and gives its reasons. On the command line it is ``separatrix fit``; in Python it is a call.
"""

import tempfile
from pathlib import Path

import separatrix as sx
from separatrix.pictures import CrossValidationDisplay
from separatrix.report import write
from separatrix.samples import sample

rows = sx.scan(sample("diabetes").path, target="progression")
study = sx.run_study(rows, models=["linear", "ridge", "lasso", "neighbors", "bayes"])
for message in study.messages[:2]:
    print(message)

# %%
# The simplest model that the folds cannot tell from the best one is chosen:

print(study.reason)
names = [entry.name for entry in study.leaderboard]
scores = [entry.folds for entry in study.leaderboard]
pooled = [entry.mean for entry in study.leaderboard]  # over all rows left out together
CrossValidationDisplay(names, scores, study.choice.metric, study.winner, pooled)

# %%
# Its score on rows that nothing had seen, with an interval, and what knowing nothing would give.

own, nothing = study.test[0], study.baseline_test[0]
print(f"{study.winner}: {own.metric} {own.value:.1f} ({own.low:.1f} to {own.high:.1f}),", end=" ")
print(f"mean of the target {nothing.value:.1f} ({nothing.low:.1f} to {nothing.high:.1f})")

# %%
# The same study as one page with every picture:

with tempfile.TemporaryDirectory() as folder:
    page = Path(folder) / "report.html"
    write(study, page)
    print(f"report of {page.stat().st_size / 1000:.0f} kB")

found = study.importance
print("columns by their importance:", ", ".join(found.columns[:4]))
