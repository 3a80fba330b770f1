"""
Which features matter for which class?
======================================

One weight per feature hides that classes may be recognised by different features.
Class-dependent RELIEF gives each class a vector of its own: the part of RELIEF's sum
that comes from its instances.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from weighbors import ClassRelief, Relief
from weighbors.exceptions import NoPositiveWeightWarning
from weighbors.plots import ClassHeatmapDisplay

data = load_wine(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(data.data)
y = data.target.map({0: "cultivar A", 1: "cultivar B", 2: "cultivar C"})
weigher = ClassRelief(n_neighbors=10).fit(X, y)

# %%
# Dark cells are features that tell a class from the others. Each class is scaled to a
# largest weight of 1. Flavanoids tell all three apart; other features serve one or two.
ClassHeatmapDisplay.from_estimator(weigher)

# %%
# Agreement
# ---------
# The class vectors sum to RELIEF's. In paper 001 a low correlation of all of them with
# that sum went with hard tasks.
total = weigher.class_feature_weights_.sum(axis=0)
print(
    "class vectors sum to RELIEF's:",
    np.allclose(total, Relief(n_neighbors=10).fit(X, y).feature_weights_),
)
print(pd.Series(weigher.class_correlations_, weigher.classes_).round(2).to_string())
print(f"largest of them: {weigher.agreement_:.2f}")

# %%
# The data behind it
# ------------------
# Proline is high for A alone, hue is low for C, and the colour of B is pale: each class
# stands out in another feature.
figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for ax, feature in zip(axes, ["proline", "hue", "color_intensity"], strict=True):
    ax.boxplot(
        [X.loc[y == label, feature] for label in weigher.classes_],
        orientation="horizontal",
        widths=0.6,
    )
    ax.set_yticks([1, 2, 3], weigher.classes_)
    ax.set_xlabel(f"{feature}, standardised")

# %%
# The toy of paper 001
# --------------------
# Six points of two classes, made to have the weights that the paper gives for its first
# figure. RELIEF adds both classes and finds nothing; each class alone finds a feature.
points = np.array([[0, 1], [6, 6], [9, 8], [5, 1], [1, 4], [0, 8]], dtype=float)
classes = np.array([1, 1, 1, 2, 2, 2])
with warnings.catch_warnings():  # that no weight of RELIEF is above 0 is the point
    warnings.simplefilter("ignore", NoPositiveWeightWarning)
    toy = ClassRelief(n_neighbors=1).fit(points, classes)
print("class 1:", toy.class_feature_weights_[0])
print("class 2:", toy.class_feature_weights_[1])
print("RELIEF: ", toy.feature_weights_)

# %%
# Lines lead from each point to its nearest hit (full) and its nearest miss (dotted).
# Class 1 is apart from its misses in feature 2 rather than feature 1, and class 2 the
# other way round.
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, label in zip(axes, (1, 2), strict=True):
    for point in np.flatnonzero(classes == label):
        for same, style in ((True, "-"), (False, ":")):
            others = np.flatnonzero((classes == label) == same)
            others = others[others != point]
            distance = np.linalg.norm(points[others] - points[point], axis=1)
            near = others[distance.argmin()]
            ax.plot(*points[[point, near]].T, style, color="0.5", zorder=1)
    for c, marker in ((1, "o"), (2, "s")):
        ax.scatter(
            *points[classes == c].T, marker=marker, s=60, label=f"class {c}", zorder=2
        )
    weights = toy.class_feature_weights_[label - 1]
    ax.set_title(f"class {label}: weights ({weights[0]:g}, {weights[1]:g})")
    ax.set_xlabel("feature 1")
axes[0].set_ylabel("feature 2")
axes[0].legend()
