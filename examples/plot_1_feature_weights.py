"""
Which features matter, and would other patients say the same?
=============================================================

ReliefF ranks the 30 measurements of the breast-cancer data. A ranking alone says
little: drawn from other patients it might look different. So the weigher is fitted to
50 parts of the data, and we look at how much its choices agree.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import ReliefF
from weighbors.evaluation import permutation_test, stability_curve
from weighbors.plots import StabilityCurveDisplay, WeightsDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
weigher = make_pipeline(
    StandardScaler().set_output(transform="pandas"), ReliefF(n_neighbors=10)
)

# %%
# The weights
# -----------
# Dots are means over the runs, lines the middle 80 % of them.
curve = stability_curve(weigher, X, y, cv=10, n_repeats=5, random_state=0)
WeightsDisplay.from_result(curve, top=15)

# %%
# The choice of the best k
# ------------------------
# 1 means that all runs chose the same features, 0 that they agreed no more than chance.
# Where two features are about equally good, which of them comes first is a matter of
# luck, and the curve dips.
StabilityCurveDisplay.from_result(curve, name="ReliefF")
print(
    curve.frame()
    .set_index("size")["stability"]
    .round(2)
    .loc[[1, 3, 5, 10, 20]]
    .to_string()
)

# %%
# How often was each feature among the best five?
print(curve.frequencies(5).nlargest(8).to_string())

# %%
# More than chance?
# -----------------
# Labels are permuted and the weigher is fitted again, 200 times. Each weight is
# measured in deviations of its own permuted weights. Dots are filled where the feature
# is found at a false discovery rate of 5 %.
found = permutation_test(weigher, X, y, n_permutations=200, random_state=0)
WeightsDisplay.from_result(found, top=None)
print(f"{len(found.discoveries(0.05))} of {X.shape[1]} features at an FDR of 5 %")
print(
    f"{len(found.familywise_discoveries(0.05))} with a chance of 5 % that any is false"
)
