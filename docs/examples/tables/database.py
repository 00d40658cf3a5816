"""
Can a database tell cultivars apart?
====================================

A fitted model is a formula, and SQL can compute formulas. Write a classifier of wines as a query,
run it where the wines are, without Python, and compare: does the database give the same answers?
"""

# %%
# Linear discriminant analysis of 178 wines, from the file.
import sqlite3

import numpy as np
import pandas as pd

import separatrix as sx
from separatrix.pictures import DecisionBoundaryDisplay
from separatrix.samples import sample

wine = pd.read_csv(sample("wine").path)
y = wine.pop("cultivar")
columns = ["alcohol", "flavanoids", "color_intensity", "proline"]
model = sx.LinearDiscriminantAnalysis().fit(wine[columns], y)
DecisionBoundaryDisplay.from_estimator(model, wine[columns], y)

# %%
# The query. It was run before it was handed over, on rows made up to be difficult.
query = sx.export_model(model, "sql", dialect="sqlite", table="cellar")
print(query.check)
print(f"{len(query.content.splitlines())} lines:")
print("\n".join(line[:96] for line in query.content.splitlines()[:12]))

# %%
# A database with the wines in it answers by itself.
with sqlite3.connect(":memory:") as database:
    wine[columns].to_sql("cellar", database, index=False)
    answers = pd.read_sql(query.content, database)
probabilities = answers.filter(like="probability").to_numpy()
apart = np.abs(probabilities - model.predict_proba(wine[columns])).max()
print(answers.head(3).round(4).to_string())
print(f"same answers: {(answers['predicted'] == model.predict(wine[columns])).sum()} of {len(y)}")
print(f"largest difference of a probability: {apart:.0e}")
