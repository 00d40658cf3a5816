"""
What is the shortest rule for a cultivar?
=========================================

Call each of thirteen measurements high or low. A cultivar is then a function of thirteen bits, and
such a function has a shortest formula of AND and OR. How short is it, and how much do 178 examples
leave open?
"""

# %%
# High means above the median of its column.
import pandas as pd

import separatrix as sx
from separatrix.pictures import ColumnDistributionDisplay
from separatrix.samples import sample

wine = pd.read_csv(sample("wine").path)
cultivar = wine.pop("cultivar")
high = (wine > wine.median()).astype(int)
consistent = sx.BooleanFunctions(high, cultivar == "cultivar A")
rule = consistent.shortest()
print(rule)
print("proved to be the shortest" if rule.proved else "the shortest that was found")

# %%
# One column of the rule, by cultivar.
ColumnDistributionDisplay.from_values("proline", wine["proline"], cultivar)

# %%
# Without an assumption the examples prove little: every input that they do not mention is open, and
# half of all consistent functions say yes there.
seen = len(high.drop_duplicates())
print(f"{seen} of {2**13} inputs occur; 2^{2**13 - seen} functions agree with all examples")

# %%
# The other cultivars are not a function of these bits at all.
for name in ("cultivar B", "cultivar C"):
    try:
        print(name, sx.BooleanFunctions(high, cultivar == name).shortest())
    except ValueError as refusal:
        print(f"{name}: {refusal}")
