"""
Stack loss: which days are not like the others?
===============================================

For 21 days a plant that makes nitric acid noted the flow of air, the temperature of the cooling
water, the concentration of the acid, and how much ammonia went up the stack. Do a few days decide
what least squares says?
"""

import numpy as np
from statsmodels.datasets import stackloss

import separatrix as sx
from separatrix.pictures import LeverageDisplay

table = stackloss.load_pandas()
X, y = table.exog, table.endog

# %%
# Least squares, and how much each day moves it.

squares = sx.LinearRegression().fit(X, y)
summary = squares.summary()
largest = np.argsort(-summary.cooks_distance)[:3]
for day in largest:
    print(f"day {day + 1:2}: Cook's distance {summary.cooks_distance[day]:.2f}")

LeverageDisplay.from_estimator(squares)

# %%
# A line that large residuals do not pull: Huber's loss, and absolute values.

huber = sx.HuberRegressor().fit(X, y)
absolute = sx.LeastAbsoluteRegressor().fit(X, y)
for name, model in {"squares": squares, "Huber": huber, "absolute": absolute}.items():
    residuals = np.abs(y - model.predict(X))
    days = sorted(int(day) + 1 for day in np.argsort(-residuals)[:4])
    print(f"{name:9} {np.round(model.coef_, 3)}  largest residuals on days {days}")
print(absolute.certificate_)
