"""
Why this label?
===============

A k-NN can say whom it asked. ``explain`` lists the neighbours, their votes and each
feature's share of each distance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from weighbors import ReliefF, WeightedKNeighborsClassifier

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(
    data.data, y, test_size=0.3, stratify=y, random_state=0
)
scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
model = WeightedKNeighborsClassifier(7, weigher=ReliefF()).fit(X_train, y_train)
print(f"accuracy on {len(X_test)} patients: {model.score(X_test, y_test):.3f}")

# %%
# A patient in doubt: the one whose neighbours disagree most.
row = int(np.abs(model.predict_proba(X_test)[:, 0] - 0.5).argmin())
told = model.explain(X_test.iloc[[row]])
print(f"called {model.predict(X_test.iloc[[row]])[0]}, truth: {y_test[row]}")
print(
    told[["rank", "row", "label", "distance", "vote"]].round(3).to_string(index=False)
)

# %%
# What sets her apart from each neighbour
# ---------------------------------------
# A bar is a neighbour, its length the distance; the parts are the shares of the five
# features that count most, the rest is grey. Features that agree add nothing to a
# distance, however large their weight.
shares = told.filter(like="share of").rename(
    columns=lambda name: name.removeprefix("share of ")
)
top = shares.mean().nlargest(5).index
parts = (
    shares[top].assign(others=1 - shares[top].sum(axis=1)).mul(told["distance"], axis=0)
)
colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b0b0b0"]
figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
left = np.zeros(len(parts))
for name, colour in zip(parts, colours, strict=True):
    ax.barh(
        range(len(parts)),
        parts[name],
        left=left,
        color=colour,
        label=name,
        edgecolor="white",
    )
    left += parts[name].to_numpy()
ax.set_yticks(
    range(len(parts)),
    [
        f"{label} (row {number})"
        for label, number in zip(told["label"], told["row"], strict=True)
    ],
)
ax.invert_yaxis()
ax.set_xlabel("distance")
ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))

# %%
# What ran, and why:
print(model.plan_)
