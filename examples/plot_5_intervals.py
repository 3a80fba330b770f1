"""
Values that are typical of a class
==================================

WIB-K cuts each feature into the runs of values that occur in a class. A run counts the
more, the fewer of its values occur in a run of another class. It works on integers,
here the iris measurements in millimetres; real numbers are binned first
(``discretize``).
"""

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
