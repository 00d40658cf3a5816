"""
How good is the winner really?
==============================

The best of several scores is too good: it was chosen for being the best. Repeating the whole choice
without each fold in turn says by how much.
"""

import matplotlib.pyplot as plt

import separatrix as sx
from separatrix.samples import sample

rows = sx.scan(sample("diabetes").path, target="progression")
models = ["linear", "ridge", "lasso", "neighbors"]
study = sx.run_study(rows, models=models, repeats=2, nested=True)

# %%
# Inside: the score by which a model was chosen. Outside: its score on the fold that had no part in
# the choice.

nested = study.nested
print(f"RMSE inside {nested.inner:.2f}, outside {nested.outer:.2f} ± {nested.standard_error:.2f}")
print(f"optimism {nested.optimism:.2f}:", end=" ")
print("within the standard error" if nested.optimism < nested.standard_error else "beyond chance")
print(nested.summary)

for i, fold in enumerate(nested.folds, 1):
    plt.plot([0, 1], [fold.inner, fold.outer], marker="o", label=f"fold {i}: {fold.winner}")
plt.xticks([0, 1], ["inside", "outside"])
plt.xlim(-0.2, 1.9)
plt.ylabel("RMSE of each outer fold")
plt.legend()

# %%
# Would other folds have chosen another model? Two draws:

for score in study.repeats.scores:
    print(f"{score.name:10} {score.mean:.2f} ± {score.corrected_error:.2f},", end=" ")
    print(f"moves by {score.spread:.2f} with the draw, chosen {score.chosen} times")
