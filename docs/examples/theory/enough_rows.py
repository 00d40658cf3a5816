"""
How many wines are enough to learn a box?
=========================================

Theory has a number for it, for any distribution: with so many rows, the error of the box is at most
ε with probability 1 − δ. The table has 178 wines. Are they enough, and how pessimistic is theory?
"""

# %%
# The wine table has thirteen columns; rules in two or three of them are what a person can read.
import pandas as pd

import separatrix as sx
from separatrix.pictures import PACDisplay
from separatrix.samples import sample

n, d = pd.read_csv(sample("wine").path).drop(columns="cultivar").shape
for columns in (1, 2, 3, d):
    needed = sx.pac_sample_size(0.1, 0.05, sx.Boxes(columns)).n
    verdict = "enough" if needed <= n else "too few"
    print(
        f"a box in {columns:2} columns, ε = 0.1, δ = 0.05: {needed:5} rows; {n} wines are {verdict}"
    )

# %%
# The promise holds for the worst distribution. Simulated ones fail less often than δ long before.
PACDisplay.from_hypotheses(sx.Boxes(2), 0.1, 0.05, [10, 20, 40, 60, 80, 120, 176], repeats=400)

# %%
# What 178 rows give in a simulation of two columns, with an exact interval:
print(sx.pac_simulation(sx.Boxes(2), 0.1, 0.05, n=n, repeats=400))
