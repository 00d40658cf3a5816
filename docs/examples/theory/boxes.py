"""
Which box holds the wines of one cultivar?
==========================================

"Flavanoids above so much and color above so much" is a rule that can be read: a box. Many boxes fit
the examples. What do all of them agree on, and what do they leave open?
"""

# %%
# Two measurements of 178 wines. S, filled, is the smallest box around a cultivar; the dashed box is
# common to all largest ones; the rule that predicts lies halfway.
import pandas as pd

import separatrix as sx
from separatrix.pictures import VersionSpaceDisplay
from separatrix.samples import sample

wine = pd.read_csv(sample("wine").path)
y = wine.pop("cultivar")
pair = wine[["flavanoids", "color_intensity"]]
model = sx.BoxClassifier().fit(pair, y)
print(model.describe())
VersionSpaceDisplay.from_estimator(model, pair, y)

# %%
# No box is without errors here, and the certificate proves that none has fewer.
print(model.certificate_)

# %%
# With all thirteen columns, and the shortest rule of each cultivar:
short = sx.BoxClassifier("short").fit(wine, y)
print(short.describe())

# %%
# New wines: half of the table trains, the other half is judged. Where no box or two boxes claim a
# wine, the model may say that it does not know.
careful = sx.BoxClassifier(reject=True).fit(wine[::2], y[::2])
answers = careful.predict(wine[1::2])
known = answers != "reject"
right = (answers[known] == y[1::2][known]).mean()
print(f"answered: {known.mean():.0%} of {len(known)} wines, {right:.1%} of them right")
