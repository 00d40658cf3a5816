"""
Which states drive the line of murder rates?
============================================

Murders by 100 000 inhabitants in the fifty states of the USA and the District of Columbia (2009),
by poverty, single parents, schooling and the share of people in cities. A slope is news only if no
single row made it.
"""

from statsmodels.datasets import statecrime

import separatrix as sx
from separatrix.pictures import LeverageDisplay, ResidualDisplay

table = statecrime.load_pandas().data
X, y = table[["poverty", "single", "hs_grad", "urban"]], table["murder"]

# %%

model = sx.LinearRegression().fit(X, y)
summary = model.summary()
print(summary)

# %%
# Three rows stand out; one of them lies outside of every contour.

LeverageDisplay.from_estimator(model, row_labels=table.index)

# %%
# What becomes of the slopes without it?

worst = table.index[summary.cooks_distance.argmax()]
others = table.index != worst
without = sx.LinearRegression().fit(X[others], y[others])
print(f"without {worst} (Cook's distance {summary.cooks_distance.max():.2f}):")
both = {"with": summary.to_frame(), "without": without.summary().to_frame()}
for case, frame in both.items():
    print(
        f"{case:8}", *(f"{f.term} {f.estimate:.2f} (p = {f.p:.3f})" for f in frame[1:].itertuples())
    )

# %%

ResidualDisplay.from_predictions(
    y[others], without.predict(X[others]), row_labels=table.index[others]
)
