"""
Values that are typical of a class
==================================

WIB-K cuts each feature into the runs of values that occur in a class. A run counts the
more, the fewer of its values occur in a run of another class. It works on integers,
here the iris measurements in millimetres; real numbers are binned first
(``discretize``).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from weighbors import WIBK, RepresentativeIntervals, WeightedKNeighborsClassifier
from weighbors.plots import IntervalMapDisplay

data = load_iris(as_frame=True)
X = (
    (10 * data.data)
    .round()
    .astype(int)
    .rename(columns=lambda name: name.replace(" (cm)", ", mm"))
)
y = data.target_names[data.target]
weigher = RepresentativeIntervals().fit(X, y)

# %%
# A bar is a run of values, the thicker the more it counts. Petals of 10 to 19 mm are
# setosa's alone; most sepal lengths belong to all three.
IntervalMapDisplay.from_estimator(weigher)

# %%
# The table behind the picture:
shown = ["class", "low", "high", "magnitude", "level", "weight", "kept"]
print(
    weigher.intervals_.query("feature == 'petal length, mm'")[shown]
    .round(2)
    .to_string(index=False)
)

# %%
# What do they buy?
# -----------------
# Here hardly anything: measure before you rely on them.
cv = RepeatedStratifiedKFold(n_splits=10, n_repeats=3, random_state=0)
for name, model in {"5-NN": WeightedKNeighborsClassifier(5), "WIB-K": WIBK(5)}.items():
    scores = cross_val_score(model, X, y, cv=cv)
    print(f"{name:<6} accuracy {scores.mean():.3f}")

# %%
# The four overlaps of paper 002
# ------------------------------
# The weight of an interval is the share of it that no interval of another class covers.
# Figure 1 of the paper has four cases. It measures lengths, and so does
# ``overlap="length"``. By default values are counted, as in the text of the paper.
cases = {
    "A: all of it": ((10, 20), (5, 25)),
    "B: its left part": ((10, 30), (5, 18)),
    "C: its right part": ((10, 30), (22, 35)),
    "D: its middle": ((10, 30), (16, 24)),
}
figure, axes = plt.subplots(
    1, 4, figsize=(10, 2), sharex=True, sharey=True, layout="constrained"
)
for ax, (case, (own, other)) in zip(axes, cases.items(), strict=True):
    runs = [np.arange(low, high + 1) for low, high in (own, other)]
    values = np.concatenate(runs)[:, None]
    labels = np.repeat(["own", "other"], [len(run) for run in runs])
    found = RepresentativeIntervals(overlap="length").fit(values, labels).intervals_
    weight = found.loc[found["class"] == "own", "weight"].iloc[0]
    for height, (low, high), colour in ((1, own, "#0072b2"), (0, other, "#d55e00")):
        ax.barh(height, high - low, left=low, height=0.5, color=colour)
    ax.set_title(f"{case}\nweight {weight:.2f}", fontsize=10)
    ax.set_yticks([0, 1], ["other class", "own class"])
axes[0].set_xlim(0, 40)
figure.supxlabel("values of the feature", fontsize=10)
plt.show()
