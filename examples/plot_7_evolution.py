"""
A table a hundred times smaller
===============================

An evolutionary search selects instances and features at once: the fitness is half the
accuracy of a 1-NN, a quarter the instances and a quarter the features left out. What is
kept is judged on patients the search never saw.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from weighbors import EvolutionaryWeigher, WeightedKNeighborsClassifier
from weighbors.plots import EvolutionHistoryDisplay, InstanceMapDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.4, stratify=y, random_state=0
)
scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

search = EvolutionaryWeigher("IS+FS", random_state=0).fit(X_train, y_train)
EvolutionHistoryDisplay.from_estimator(search)

# %%
# What was kept
# -------------
small, small_y = search.reduce(X_train, y_train)
print(f"patients: {len(small)} of {len(X_train)}")
print(f"features: {small.shape[1]} of {X_train.shape[1]}")
print(f"{search.reduction_:.1%} of the table is gone")
print(small.assign(label=small_y).head(8).round(2).to_string())

# %%
# Rows that were not selected are pale.
InstanceMapDisplay.from_estimator(search, X_train, y_train, mark=0)

# %%
# What it costs
# -------------
# Accuracy on the patients that were held out. The search has seen the training rows ten
# thousand times, so its own figure is too good.
whole = WeightedKNeighborsClassifier(1).fit(X_train, y_train)
reduced = WeightedKNeighborsClassifier(1).fit(small, small_y)
print(f"1-NN, whole table    {whole.score(X_test, y_test):.3f}")
print(f"1-NN, reduced table  {reduced.score(X_test[small.columns], y_test):.3f}")
print(f"what the search saw  {search.performance_:.3f}")
