"""
El Niño: how warm will the sea be in December?
==============================================

Monthly temperatures of the Pacific off Peru, 1950 to 2010. What do the months until a given one say
about December, and how wide is the interval of the forecast?
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import elnino

import separatrix as sx
from separatrix.pictures import PredictedActualDisplay

table = elnino.load_pandas().data
months = table.columns[1:-1]
past, y = table[table["YEAR"] <= 1990], table["DEC"]
test = table[table["YEAR"] > 1990]

# %%
# A forecast at the end of each month, from that month alone, learned from 1950–1990.

widths, hits = [], []
for month in months:
    model = sx.LinearRegression().fit(past[[month]], past["DEC"])
    low, high = model.predict_interval(test[[month]], level=0.9).T
    widths.append(np.mean(high - low))
    hits.append(np.mean((low <= test["DEC"]) & (test["DEC"] <= high)))
    r_squared = model.summary().r_squared
    print(f"{month}: R² {r_squared:.2f}, 90 % interval {widths[-1]:.1f}° wide")
print(f"of {len(test)} later years in the interval: {min(hits):.0%} to {max(hits):.0%}")

plt.plot(months, widths, marker="o", markersize=4)
plt.ylim(0)
plt.ylabel("width of the 90 % interval (°C)")

# %%
# In January a forecast explains almost nothing; from summer on it gains. All months until August at
# once, with a penalty:

summer = list(months[:8])
lasso = sx.LassoCV(standardize=True, cv=5).fit(past[summer], past["DEC"])
used = [month for month, b in zip(summer, lasso.coef_, strict=True) if b]
forecast = lasso.predict(test[summer])
miss = np.abs(test["DEC"] - forecast)
before, after = lasso.score(past[summer], past["DEC"]), lasso.score(test[summer], test["DEC"])
print(f"the lasso uses {', '.join(used)}; R² {before:.2f} until 1990, {after:.2f} after")
print(f"worst year {test['YEAR'][miss.idxmax()]:.0f}: {miss.max():.1f}° off,", end=" ")
print(f"median of the others {miss.drop(miss.idxmax()).median():.1f}°")

PredictedActualDisplay.from_predictions(
    test["DEC"], forecast, row_labels=test["YEAR"].to_numpy(int)
)
