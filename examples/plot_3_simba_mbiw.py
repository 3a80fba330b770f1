"""
SIMBA and SIMBAMBIW
===================

SIMBA learns feature weights by steps along the margin's gradient; SIMBAMBIW weighs each
step by how usual the instance is. The figures show what each of them does to the
weights, to their stability and to the margins.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import Simba, SimbaMBIW, WeightedKNeighborsClassifier
from weighbors.evaluation import stability_curve
from weighbors.plots import MarginProfileDisplay, StabilityCurveDisplay, WeightsDisplay

# sphinx_gallery_thumbnail_number = 2
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
scaler = StandardScaler().set_output(transform="pandas")
scaled = scaler.fit_transform(X)
methods = {
    "Simba": Simba(random_state=0),
    "Simba, step 1/n": Simba(step="1/n", random_state=0),
    "SimbaMBIW": SimbaMBIW(random_state=0),
    "SimbaMBIW, mean 1": SimbaMBIW(scale="mean", random_state=0),
}

# %%
# Weights
# -------
# With instance weights that sum to 1, as printed, a step is about 1/n: in one pass the
# feature weights hardly leave 1. ``scale="mean"`` gives steps of mean 1, the size SIMBA
# takes.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharex=True)
for ax, name in zip(axes, ["Simba", "SimbaMBIW", "SimbaMBIW, mean 1"], strict=True):
    WeightsDisplay.from_estimator(methods[name].fit(scaled, y), top=8, ax=ax)
    ax.set_title(name, fontsize="medium")
axes[0].set_xlim(0, 1.05)

# %%
# Stability
# ---------
# Small steps make a ranking more stable, with instance weights or without: compare
# SimbaMBIW with Simba of the same step before you credit the instance weights.
curves = {
    name: stability_curve(
        make_pipeline(scaler, method), X, y, cv=10, n_repeats=2, random_state=0
    )
    for name, method in methods.items()
}
StabilityCurveDisplay.from_results(curves)
for name, curve in curves.items():
    print(f"{name:<18} mean stability {np.mean(curve.stability):.2f}")

# %%
# Margins and accuracy
# --------------------
# Left of 0 an instance is nearer to another class than to its own.
MarginProfileDisplay.from_estimator(methods["Simba"], scaled, y)
cv = RepeatedStratifiedKFold(n_splits=10, n_repeats=2, random_state=0)
for name, method in {"no weights": None, **methods}.items():
    model = make_pipeline(scaler, WeightedKNeighborsClassifier(5, weigher=method))
    print(f"{name:<18} accuracy {cross_val_score(model, X, y, cv=cv).mean():.3f}")
