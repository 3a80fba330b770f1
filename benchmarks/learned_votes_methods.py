"""The tables and the methods of `learned_votes.py`: what each method is given, and how a careful user sets it up.

A method is a function of the task ("classes" or "numeric") and of the training table. It returns an estimator that
takes a DataFrame. Everything is learned from the training rows:

- k-NN, NCA, SVM, the forests and xRFM get numbers with the median in missing cells, standardised, and categories
  one-hot, where a missing cell is a category of its own.
- HistGradientBoosting and CatBoost get the table as it is, with missing cells: both read categories themselves.
- Ours get standardised numbers, categories as categories, and missing cells.

Packages are imported when a method is made, so that the others run without them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from weighbors.datasets import list_datasets, load_dataset

ROWS = 100, 2500
FOLDS = 5
GROUPS = {"classes": "D_uci", "numeric": "R_regression"}
#: Tables that hold (nearly) the rows of another table of the study: a test over tables counts them twice.
VERSIONS = ("breast-cancer-277", "breast-w-683", "crx-653", "australian", "cleveland-297", "heart-statlog",
            "dermatology-358", "ionosphere", "lymph-weka", "vote-232", "automobile-159", "bands", "flare")  # fmt: skip


# Tables


def list_tables(task: str) -> list[str]:
    """Names of the tables of a task, the smallest first."""
    found = list_datasets()
    found = found[(found["group"] == GROUPS[task]) & (found["rows"].astype(float) >= ROWS[0])]
    if task == "classes":  # of the larger numeric tables, rows are drawn
        found = found[found["rows"].astype(float) <= ROWS[1]]
    cells = found["rows"].astype(float).clip(upper=ROWS[1]) * found["features"].astype(float)
    return found.loc[cells.sort_values(kind="stable").index, "name"].tolist()


def load_table(name: str, task: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features with categories as categories and missing cells as NaN, and the target: class numbers or floats.

    Columns without any value are left out. Of a table with more than 2500 rows, 2500 are drawn with seed 0.
    """
    data = load_dataset(name, GROUPS[task])
    X, y = data.X.dropna(axis=1, how="all"), data.y
    if len(X) > ROWS[1]:
        drawn = np.random.default_rng(0).permutation(len(X))[: ROWS[1]]
        X, y = X.iloc[drawn].reset_index(drop=True), y[drawn]
    columns = {}
    for column in X:
        number = pd.api.types.is_numeric_dtype(X[column]) and not pd.api.types.is_bool_dtype(X[column])
        cells = X[column] if number else X[column].astype(object).map(str, na_action="ignore")
        columns[str(column)] = cells.astype(np.float64 if number else "category")
    y = np.unique(y.astype(str), return_inverse=True)[1] if task == "classes" else y.astype(np.float64)
    return pd.DataFrame(columns), y


def make_folds(task: str) -> StratifiedKFold | KFold:
    """The folds of the study, and the inner folds of whatever is tuned."""
    return (StratifiedKFold if task == "classes" else KFold)(FOLDS, shuffle=True, random_state=0)


def split_columns(X: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Names of the numeric columns and of the categorical ones."""
    categories = X.select_dtypes("category").columns.tolist()
    return [name for name in X if name not in categories], categories


# What methods are given


def fill_categories(X: pd.DataFrame) -> pd.DataFrame:
    """Categories as text, and a category of its own for missing cells."""
    categories = split_columns(X)[1]
    return X.assign(**{name: X[name].astype(object).fillna("(missing)") for name in categories})


def encode_table(X: pd.DataFrame) -> Pipeline:
    """Numbers imputed and standardised, then the categories one-hot."""
    numbers, categories = split_columns(X)
    scaled = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer([("numbers", scaled, numbers), ("categories", one_hot, categories)])
    return make_pipeline(FunctionTransformer(fill_categories), columns)


def scale_numbers(X: pd.DataFrame) -> ColumnTransformer:
    """Numbers standardised with missing cells kept, and the categories as they are."""
    numbers, categories = split_columns(X)
    columns = [("numbers", StandardScaler(), numbers), ("categories", "passthrough", categories)]
    return ColumnTransformer(columns, verbose_feature_names_out=False).set_output(transform="pandas")


# Rivals that need more than a line


class Rival(BaseEstimator):
    """A rival whose ``fit`` makes ``model_``. Rows go through ``prepare`` before the model predicts."""

    def __init__(self, task: str = "classes"):
        self.task = task

    @property
    def classes_(self) -> np.ndarray:
        return self.model_.classes_

    def prepare(self, X: Any) -> Any:
        return X

    def predict(self, X: Any) -> np.ndarray:
        return np.ravel(self.model_.predict(self.prepare(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model_.predict_proba(self.prepare(X))


class TunedSVM(Rival):
    """An SVM whose C and gamma are chosen by inner cross-validation.

    Probabilities are libsvm's own (Platt's sigmoid for each pair of classes). scikit-learn 1.9 recommends
    CalibratedClassifierCV instead, which refuses classes with fewer rows than folds, and some tables have such classes.
    """

    def fit(self, X: np.ndarray, y: np.ndarray) -> TunedSVM:
        svm, scale = (SVC if self.task == "classes" else SVR)(), 1 / (X.shape[1] * X.var())
        grid = {"C": [0.1, 1, 10, 100], "gamma": [scale * factor for factor in (0.1, 0.3, 1, 3)]}
        best = GridSearchCV(svm, grid, cv=make_folds(self.task), refit=False).fit(X, y).best_params_
        more = {"probability": True, "random_state": 0} if self.task == "classes" else {}
        self.model_ = clone(svm).set_params(**best, **more).fit(X, y)
        return self


class TunedNCA(Rival):
    """Neighbourhood components analysis and k-NN. k and the votes are chosen with components learned inside folds."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> TunedNCA:
        nca = NeighborhoodComponentsAnalysis(min(X.shape[1], 30), max_iter=50, random_state=0)
        grid = {"knn__n_neighbors": NEIGHBORS, "knn__weights": ["uniform", "distance"]}
        with tempfile.TemporaryDirectory() as place:  # the components of a fold serve all k
            steps = Pipeline([("nca", nca), ("knn", KNeighborsClassifier())], memory=place)
            self.model_ = GridSearchCV(steps, grid, cv=make_folds("classes")).fit(X, y).best_estimator_
        self.model_.set_params(memory=None)
        return self


class XRFM(Rival):
    """xRFM with its defaults, as its README shows: a fifth of the rows for validation, one-hot categories named."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> XRFM:
        import torch
        from xrfm import xRFM

        classes = self.task == "classes"
        counts = np.bincount(y) if classes else np.ones(1)
        stratify = y if classes and counts[counts > 0].min() > 1 and len(y) > 5 * len(counts) else None
        train, held = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=stratify)
        numbers, categories = split_columns(X)
        self.encoder_ = encode_table(X).fit(X)
        one_hot = self.encoder_[-1].named_transformers_["categories"]
        sizes = [len(names) for names in one_hot.categories_] if categories else []
        ends = len(numbers) + np.cumsum(sizes, dtype=int)
        info = {
            "numerical_indices": torch.arange(len(numbers)),
            "categorical_indices": [torch.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)],
            "categorical_vectors": [torch.eye(size) for size in sizes],
        }
        # Integers are classes for xRFM, floats are numbers. It has no intercept: the target is standardised outside.
        y = y.astype(np.int64 if classes else np.float32)
        rows = self.prepare(X)
        more = {"categorical_info": info} if categories else {}
        self.model_ = xRFM(device=torch.device("cpu"), n_threads=1, random_state=0, verbose=False, **more)
        self.model_.fit(rows[train], y[train], rows[held], y[held])
        self.model_.classes_ = np.arange(self.model_.n_classes_)
        return self

    def prepare(self, X: pd.DataFrame) -> np.ndarray:
        return self.encoder_.transform(X).astype(np.float32)


class CatBoost(Rival):
    """CatBoost with its defaults, which reads categories itself.

    With more than two classes, its statistics of categories take half a minute for a fold of 84 rows. There it is told
    to compare categories one by one (one_hot_max_size): on bridges-v1 a fold then takes 0.7 s instead of 35 s, with
    the accuracy .695 instead of .676 and the log-loss .99 instead of .96.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> CatBoost:
        from catboost import CatBoostClassifier, CatBoostRegressor

        options = {"verbose": 0, "thread_count": 1, "allow_writing_files": False, "random_seed": 0}
        options["cat_features"] = split_columns(X)[1]
        if self.task == "classes" and len(np.unique(y)) > 2:
            options["one_hot_max_size"] = 255
        kind = CatBoostClassifier if self.task == "classes" else CatBoostRegressor
        self.model_ = kind(**options).fit(self.prepare(X), y)
        return self

    def prepare(self, X: pd.DataFrame) -> pd.DataFrame:
        return fill_categories(X)


def standardise_target(task: str, model: Any) -> Any:
    """The model, for a numeric target with the target standardised: SVR's tube and xRFM's ridge depend on its scale."""
    return model if task == "classes" else TransformedTargetRegressor(model, transformer=StandardScaler())


# The methods by name, in the order of their cost

NEIGHBORS = [1, 3, 5, 7, 9, 11, 15, 21, 31]


def tuned_knn(task: str, X: pd.DataFrame) -> Any:
    grid = {"n_neighbors": NEIGHBORS, "weights": ["uniform", "distance"], "p": [1, 2]}
    model = KNeighborsClassifier() if task == "classes" else KNeighborsRegressor()
    return make_pipeline(encode_table(X), GridSearchCV(model, grid, cv=make_folds(task)))


def nca_knn(task: str, X: pd.DataFrame) -> Any:
    return make_pipeline(encode_table(X), TunedNCA())


def svm(task: str, X: pd.DataFrame) -> Any:
    model = SVC(probability=True, random_state=0) if task == "classes" else SVR()
    return make_pipeline(encode_table(X), standardise_target(task, model))


def tuned_svm(task: str, X: pd.DataFrame) -> Any:
    return make_pipeline(encode_table(X), standardise_target(task, TunedSVM(task)))


def random_forest(task: str, X: pd.DataFrame) -> Any:
    kind = RandomForestClassifier if task == "classes" else RandomForestRegressor
    return make_pipeline(encode_table(X), kind(500, random_state=0))


def extra_trees(task: str, X: pd.DataFrame) -> Any:
    kind = ExtraTreesClassifier if task == "classes" else ExtraTreesRegressor
    return make_pipeline(encode_table(X), kind(500, random_state=0))


def hist_gradient_boosting(task: str, X: pd.DataFrame) -> Any:
    model = (HistGradientBoostingClassifier if task == "classes" else HistGradientBoostingRegressor)(random_state=0)
    many = any(X[name].nunique() > 255 for name in split_columns(X)[1])  # more than it accepts (cylinder-bands)
    return make_pipeline(encode_table(X), model) if many else model


def catboost(task: str, X: pd.DataFrame) -> Any:
    import catboost  # noqa: F401  # a package that is not installed is seen here, before any time is measured

    return CatBoost(task)


def xrfm(task: str, X: pd.DataFrame) -> Any:
    import xrfm  # noqa: F401

    return standardise_target(task, XRFM(task))


def ours(**options: Any) -> Callable[[str, pd.DataFrame], Any]:
    """A method that makes learned votes with these options."""

    def learned_votes(task: str, X: pd.DataFrame) -> Any:
        from weighbors import LearnedVotesClassifier, LearnedVotesRegressor

        kind = LearnedVotesClassifier if task == "classes" else LearnedVotesRegressor
        return make_pipeline(scale_numbers(X), kind(**options))

    return learned_votes


def weighted_knn_auto(task: str, X: pd.DataFrame) -> Any:
    from weighbors import WeightedKNeighborsClassifier

    auto = dict.fromkeys(("n_neighbors", "weigher", "weights", "p"), "auto")
    return make_pipeline(scale_numbers(X), WeightedKNeighborsClassifier(**auto))


RIVALS: dict[str, Callable[[str, pd.DataFrame], Any]] = {
    "SVM": svm,
    "tuned k-NN": tuned_knn,
    "xRFM": xrfm,
    "HistGradientBoosting": hist_gradient_boosting,
    "extra trees": extra_trees,
    "random forest": random_forest,
    "NCA + k-NN": nca_knn,
    "tuned SVM": tuned_svm,
    "CatBoost": catboost,
}
OURS = {
    "learned votes": ours(),
    "learned votes, p=2": ours(p=2),
    "learned votes, weigher=None": ours(weigher=None),
    "learned votes, k=50": ours(n_neighbors=50),
    "weighted k-NN auto": weighted_knn_auto,
}
CLASSES_ONLY = ("NCA + k-NN", "weighted k-NN auto")
