"""
A number to predict, and the neighbours it comes from
=====================================================

``WeightedKNeighborsRegressor`` predicts the mean target of the nearest rows. Features
that have nothing to do with the target spoil the distances. ``RReliefF`` finds the ones
that matter, and its weights bring nearer what belongs together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from weighbors import RReliefF, WeightedKNeighborsRegressor

# %%
# Friedman's first function has ten features. Five of them make the target:
# 10 sin(π x0 x1) + 20 (x2 − ½)² + 10 x3 + 5 x4. The other five are noise.
X, y = make_friedman1(300, n_features=10, noise=1.0, random_state=0)
X_new, y_new = make_friedman1(2000, n_features=10, noise=0.0, random_state=1)

plain = WeightedKNeighborsRegressor(n_neighbors=10).fit(X, y)
weighted = WeightedKNeighborsRegressor(n_neighbors=10, weigher=RReliefF()).fit(X, y)
models = {"plain": plain, "RReliefF weights": weighted}
for name, model in models.items():
    print(f"{name:17} R² {model.score(X_new, y_new):.3f}")

# %%
# A prediction is made of the targets of the neighbours: votes times targets add up to
# it. The row is chosen because the weights help it most, so that it shows what they
# change. The figures above say how much they gain over all rows.
error = {name: np.abs(model.predict(X_new) - y_new) for name, model in models.items()}
row = (error["plain"] - error["RReliefF weights"]).argmax()
query, truth = X_new[[row]], y_new[row]
told = {name: model.explain(query) for name, model in models.items()}
for name, table in told.items():
    print(name)
    print(table.loc[:3, ["rank", "row", "target", "distance", "vote"]].round(2))
    print(f"vote × target adds up to {(table['vote'] * table['target']).sum():.2f}")
print(f"the true value is {truth:.2f}")

# %%
# Left, the weights in use: the features that make the target are blue, and the five of
# noise, whose weights are 0, would be grey. x2, whose effect goes down and up again,
# gets little weight, and x4, the weakest, gets none. Right, the ten neighbours of the
# row under each model. Each dot is the target of a neighbour, the bar their mean, and
# the dashed line the true value.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
names = [f"x{j}" for j in range(10)]
left.barh(names, weighted.feature_importances_, color=["#0072b2"] * 5 + ["#b0b0b0"] * 5)
left.invert_yaxis()
left.set(xlabel="weight", title="RReliefF")
for place, table in enumerate(told.values()):
    # Dots are spread a little, nearest first: equal targets can be told apart.
    across = place + np.linspace(-0.15, 0.15, len(table))
    right.scatter(across, table["target"], color="#0072b2", alpha=0.7, zorder=2)
    mean = (table["vote"] * table["target"]).sum()
    right.hlines(mean, place - 0.3, place + 0.3, color="#d55e00", linewidth=3, zorder=3)
    right.annotate(f"{mean:.1f}", (place + 0.32, mean), va="center", color="#d55e00")
right.axhline(truth, color="black", linestyle="--", linewidth=1)
right.annotate(f"true value {truth:.1f}", (0.5, truth), ha="center", va="bottom")
right.set(xticks=[0, 1], xticklabels=list(told), xlim=(-0.5, 1.5))
right.set(ylabel="target", title="targets of the ten neighbours of one row")
plt.show()
