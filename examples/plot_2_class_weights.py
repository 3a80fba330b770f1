"""
Which features matter for which class?
======================================

One weight per feature hides that classes may be recognised by different features.
Class-dependent RELIEF gives each class a vector of its own: the part of RELIEF's sum
that comes from its instances.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from weighbors import ClassRelief, Relief
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
