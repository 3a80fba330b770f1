"""Raw tables: cleaning, scaling, encoding, new tables by name, row names, and scikit-learn's tools."""

import datetime
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from weighbors import (
    IB1,
    LWL,
    WIBK,
    IBk,
    KStar,
    LearnedVotesClassifier,
    LearnedVotesRegressor,
    ReliefF,
    SimbaMBIW,
    TableClassifier,
    TableRegressor,
    WeightedKNeighborsClassifier,
    WeightedKNeighborsRegressor,
)
from weighbors.datasets import load_builtin
from weighbors.exceptions import InvalidDataError, UnknownCategoryError

CLASSIFIERS = [
    LearnedVotesClassifier(weigher=None), LearnedVotesClassifier(10, None), WeightedKNeighborsClassifier(3),
    WeightedKNeighborsClassifier(3, SimbaMBIW(), weights="distance"), IB1(), IBk(3), KStar(), LWL(),
    WIBK(3, discretize="mdlp"),
]  # fmt: skip


def raw_table(n=80, seed=0):
    """An identifier, a constant, a date, numbers with missing cells, text with missing cells, and the labels."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["a", "b", "c"], n)
    size = rng.normal(size=n) + 2.0 * (kind == "a")
    size[rng.random(n) < 0.1] = np.nan
    colour = np.where(rng.random(n) < 0.7, np.where(kind == "b", "red", "blue"), "green").astype(object)
    colour[rng.random(n) < 0.1] = None
    X = pd.DataFrame(
        {
            "patient": [f"P{seed}-{i:03d}" for i in range(n)],
            "size": size,
            "site": "north",
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "colour": colour,
            "income": rng.normal(50_000, 9_000, n).round(),
        }
    )
    return X, kind


def as_polars(X):
    return pl.DataFrame({name: [None if pd.isna(cell) else cell for cell in X[name]] for name in X.columns})


def as_frame(model, X):
    """Return encoded rows with texts in place of codes, as an estimator of others gets them."""
    return model._reader.encoder.coded_table(model._reader.encode(model, X)).as_given()


# Preparation


def test_numbers_are_scaled_as_scikit_learn_does():
    data = load_builtin("wine")
    train, test = data.X[::2], data.X[1::2]
    for scale, scaler in (("standard", StandardScaler()), ("range", MinMaxScaler())):
        peer = make_pipeline(scaler, KNeighborsClassifier(7)).fit(train, data.y[::2])
        model = TableClassifier(WeightedKNeighborsClassifier(7), scale).fit(train, data.y[::2])
        np.testing.assert_allclose(model.predict_proba(test), peer.predict_proba(test))
    raw = KNeighborsClassifier(7).fit(train, data.y[::2])
    model = TableClassifier(WeightedKNeighborsClassifier(7), None).fit(train, data.y[::2])
    np.testing.assert_allclose(model.predict_proba(test), raw.predict_proba(test))


def test_ranks_do_not_depend_on_the_unit():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3), "rank")
    other = X.assign(income=np.log(X["income"]))
    expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(clone(model).fit(other, y).predict_proba(other), expected)


def test_a_rank_is_the_share_of_smaller_values():
    X = pd.DataFrame({"a": [3.0, 1.0, 1.0, 7.0], "b": list("uvuv")})
    model = TableClassifier(WeightedKNeighborsClassifier(1), "rank").fit(X, list("uvuv"))
    for value, rank in ((1.0, 0.25), (3.0, 0.625), (7.0, 0.875), (2.0, 0.4375), (-9.0, 0.25), (99.0, 0.875)):
        assert model._reader.encode(model, X[:1].assign(a=value))[0, 0] == pytest.approx(rank)


def test_columns_that_cannot_help_are_left_out_with_a_reason():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    assert [column.name for column in model.left_out_] == ["patient", "site", "seen"]
    assert "dates" in str(model.left_out_[2])
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model._reader.encoder.names == ("size", "colour", "income", "size is missing")
    assert model._reader.encoder.origin.tolist() == [0, 1, 2, 0]
    kept = TableClassifier(WeightedKNeighborsClassifier(3), keep="patient", drop=["income"]).fit(X, y)
    assert kept._reader.encoder.columns == ("patient", "size", "colour")


def test_dates_become_days_on_request():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3), None, dates="days").fit(X, y)
    days = model._table["seen"]
    assert days.iloc[0] == (X["seen"].iloc[0] - pd.Timestamp("1970-01-01")).days
    objects = X.assign(seen=[one.date() for one in X["seen"]])
    np.testing.assert_array_equal(model.predict_proba(objects), model.predict_proba(X))
    text = X.assign(seen="yesterday")
    with pytest.raises(InvalidDataError, match="'seen' was numbers in fit and holds text now"):
        model.predict(text)
    times = X.assign(seen=datetime.time(3))
    assert "seen" in [c.name for c in clone(model).fit(times, y).left_out_]


def test_missing_cells_have_columns_and_categories_of_their_own():
    X = pd.DataFrame({"a": [1.0, 3.0, np.nan, 4.0], "c": ["u", None, "v", "u"]})
    model = TableClassifier(WeightedKNeighborsClassifier(1), None).fit(X, list("xyxy"))
    np.testing.assert_allclose(model._reader.encode(model, X)[:, 0], [1, 3, 8 / 3, 4])  # the mean for what is missing
    assert model._reader.encode(model, X)[:, 2].tolist() == [0, 0, 1, 0]
    assert model._reader.encoder.coder.categories[1].tolist() == ["u", "(missing)", "v"]
    assert model._reader.encode(model, X)[:, 1].tolist() == [0, 1, 2, 0]
    heom = TableClassifier(WeightedKNeighborsClassifier(1), None, missing="distance").fit(X, list("xyxy"))
    np.testing.assert_array_equal(np.isnan(heom._reader.encode(heom, X)), X.isna().to_numpy())


def test_a_weight_of_2_is_a_row_given_twice():
    X, y = raw_table()
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    for scale in ("standard", "range", "rank"):
        model = TableClassifier(WeightedKNeighborsClassifier(5), scale, drop=["patient"])
        by_weight = clone(model).fit(X, y, sample_weight=weight).predict_proba(X)
        by_copies = clone(model).fit(X.iloc[copies], y[copies]).predict_proba(X)
        np.testing.assert_allclose(by_weight, by_copies, atol=1e-12)


# New tables


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore:a class has")
def test_one_row_is_answered_as_many_rows_are(estimator):
    """Few rows are read cell by cell, many column by column."""
    X, y = raw_table()
    new, _ = raw_table(40, seed=5)
    new.loc[3, "colour"] = "purple"
    model = TableClassifier(estimator).fit(X, y)
    many = model.predict_proba(new)
    single = np.vstack([model.predict_proba(new.iloc[[i]]) for i in range(len(new))])
    np.testing.assert_array_equal(single, many)
    encoded = np.vstack([model._reader.encode(model, new.iloc[[i]]) for i in range(len(new))])
    np.testing.assert_array_equal(encoded, model._reader.encode(model, new))
    # Cells of other types are read in the short way, too: None stands for a cell that needs all rules.
    narrow = new.astype({"size": "float32"}).assign(flag=new["size"] > 0)
    wider = TableClassifier(estimator).fit(X.astype({"size": "float32"}).assign(flag=X["size"] > 0), y)
    positions = wider._reader._find_positions(narrow)
    cells = [[row[j] for j in positions] for row in (narrow.iloc[i].tolist() for i in range(len(narrow)))]
    np.testing.assert_array_equal(wider._reader.encoder.encode_cells(cells), wider._reader.encode(wider, narrow))
    frames = model.estimator_.predict_proba(as_frame(model, X))  # without the short way
    np.testing.assert_array_equal(model.predict_proba(X), frames)


def test_the_order_of_columns_and_further_columns_do_not_matter():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    expected = model.predict_proba(X)
    other = X[X.columns[::-1]].assign(more="?")
    np.testing.assert_array_equal(model.predict_proba(other), expected)
    np.testing.assert_array_equal(model.predict_proba(other[:5]), expected[:5])
    needed = X[["income", "size", "colour"]]
    np.testing.assert_array_equal(model.predict_proba(needed), expected)
    assert model.check_table(other) == ("1 column the model does not use: 'more'",)
    assert model.check_table(X) == ()


def test_new_categories_differ_from_all_known_ones():
    X, y = raw_table()
    model = TableClassifier(LearnedVotesClassifier(weigher=None)).fit(X, y)
    strange = X.assign(colour="purple")
    assert model._queries(strange).rows[:, 1].tolist() == [-1.0] * len(X)
    assert "'purple' was not there in fit (80 rows)" in model.check_table(strange)[0]
    careful = TableClassifier(LearnedVotesClassifier(weigher=None, handle_unknown="error")).fit(X, y)
    np.testing.assert_array_equal(careful.predict_proba(X), model.predict_proba(X))
    with pytest.raises(UnknownCategoryError, match="column 'colour' has categories that were not there in fit"):
        careful.predict(strange)


def test_other_types_at_predict_time():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    expected = model.predict_proba(X)
    for other in (
        X.assign(income=X["income"].astype(int)),
        X.assign(income=X["income"].astype(str)),
        X.assign(income=X["income"].astype("Int64")),
        X.assign(colour=X["colour"].astype("category")),
        X.astype(object),
    ):
        np.testing.assert_array_equal(model.predict_proba(other), expected)
        np.testing.assert_array_equal(model.predict_proba(other[:4]), expected[:4])
    with pytest.raises(InvalidDataError, match="'income' was numbers in fit and holds text now"):
        model.predict(X.assign(income="much"))
    with pytest.raises(InvalidDataError, match="'colour' was categories in fit, and now it holds objects"):
        model.predict(X.assign(colour=[["red"]] * len(X)))
    infinite = X.assign(income=np.inf)
    np.testing.assert_array_equal(model.predict_proba(infinite), model.predict_proba(X.assign(income=np.nan)))
    np.testing.assert_array_equal(model.predict_proba(infinite[:2]), model.predict_proba(X.assign(income=np.nan))[:2])


def bad_tables():
    X, _ = raw_table()
    twice = pd.concat([X, X[["size"]]], axis=1)
    return {
        "no rows": (X[:0], "column names and no rows"),
        "duplicated names": (twice, "more than one column 'size'"),
        "lazy": (as_polars(X).lazy(), "LazyFrame, whose rows are not computed yet: call .collect"),
        "nothing useful": (X[["patient", "site"]], "no feature is left to work with"),
        "no columns": (X[[]], "no feature is left|0 feature"),
        "sparse": (sparse.eye(80).tocsr(), "Sparse data was passed to TableClassifier"),
        "one row": (X[:1], "at least 2 rows are needed; got n_samples=1"),
    }


@pytest.mark.parametrize("case", bad_tables())
def test_bad_tables_in_fit(case):
    X, message = bad_tables()[case]
    with pytest.raises(InvalidDataError, match=message):
        TableClassifier().fit(X, raw_table()[1][: X.shape[0] if case in ("no rows", "one row") else 80])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_bad_tables_in_predict():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    for bad, message in (
        (X.drop(columns="size"), "lacks 1 of the 3 columns the model was fitted to: 'size'"),
        (X[:0], "column names and no rows"),
        (pd.concat([X, X[["size"]]], axis=1), "more than one column 'size'"),
        (as_polars(X).lazy(), "LazyFrame"),
        (X.to_numpy()[:, :2].tolist(), "X has 2 features, but TableClassifier is expecting 6"),
        (sparse.eye(6).tocsr(), "Sparse data"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(bad)


def test_bad_parameters():
    X, y = raw_table()
    for params, message in (
        ({"keep": "sizes"}, "there is no column 'sizes'. Did you mean 'size'"),
        ({"drop": ["sizes"]}, "there is no column 'sizes'"),
        ({"row_names": "patients"}, "there is no column 'patients'"),
        ({"keep": "size", "drop": ["size"]}, "'size' is to be kept and to be left out"),
        ({"estimator": RandomForestClassifier()}, "RandomForestClassifier takes numbers only"),
        ({"scale": "log"}, "The 'scale' parameter"),
    ):
        with pytest.raises(ValueError, match=message):
            TableClassifier(**params).fit(X, y)
    with pytest.raises(InvalidDataError, match="KNeighborsClassifier takes no sample_weight"):
        TableClassifier(KNeighborsClassifier()).fit(X[["income"]], y, sample_weight=np.ones(80))


def test_any_classifier_takes_a_table_of_numbers():
    data = load_builtin("iris")
    model = TableClassifier(RandomForestClassifier(10, random_state=0)).fit(data.X, data.y)
    assert model.score(data.X, data.y) > 0.95
    assert model.predict_proba(data.X[:2]).shape == (2, 3)


# Names of rows


def test_rows_are_named_by_identifier_or_index():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    assert model.row_names_.tolist() == X["patient"].tolist()
    assert model.name_rows(X[3:5]).tolist() == ["P0-003", "P0-004"]
    found = model.predict_table(X[3:5])
    assert found.index.tolist() == ["P0-003", "P0-004"]
    assert found.columns.tolist() == ["prediction", "probability of a", "probability of b", "probability of c"]
    without = X.drop(columns="patient")
    indexed = TableClassifier(IB1()).fit(without.set_axis([f"row {i}" for i in range(80)], axis=0), y)
    assert indexed.row_names_[:2].tolist() == ["row 0", "row 1"]
    plain = TableClassifier(WeightedKNeighborsClassifier(3)).fit(without, y)
    assert plain.row_names_ is None
    assert plain.name_rows(without[:2]).tolist() == ["0", "1"]
    assert TableClassifier(WeightedKNeighborsClassifier(3), row_names=None).fit(X, y).row_names_ is None


def test_training_rows_are_counted():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    new, _ = raw_table(40, seed=5)
    assert model.count_training_rows(pd.concat([X[:7], new], ignore_index=True)) == 7
    assert model.count_training_rows(new[:3]) == 0


def test_a_named_column_names_the_rows_and_is_no_feature():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3), row_names="income").fit(X, y)
    assert model.row_names_.tolist() == X["income"].astype(str).tolist()
    assert "income" not in model._reader.encoder.columns


def test_what_an_explanation_needs_is_kept():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    columns, encoder = model._table, model._reader.encoder
    assert_frame_equal(columns[["size", "income"]], X[["size", "income"]])
    assert model.row_names_.tolist() == X["patient"].tolist()
    numbers = encoder.encode(columns)[:, [0, 2]]
    there = ~columns["size"].isna().to_numpy()
    np.testing.assert_allclose(encoder.scales.invert(numbers)[there, 0], X["size"][there])


# Tools of scikit-learn


def test_parameters_of_the_default_estimator_can_be_set():
    model = TableClassifier()
    assert model.get_params()["estimator__n_neighbors"] == "auto"
    assert model.estimator is None
    assert clone(model).set_params(estimator__n_neighbors=7).estimator.n_neighbors == 7
    assert model.set_params(estimator__p=2, scale="rank").scale == "rank"
    assert isinstance(TableRegressor().set_params(estimator__p=2).estimator, LearnedVotesRegressor)
    with pytest.raises(ValueError, match="Invalid parameter 'neighbours'"):
        TableClassifier().set_params(estimator__neighbours=3)


def test_a_grid_over_scale_weigher_and_votes():
    X, y = raw_table(60)
    grid = {
        "scale": ["standard", "rank"],
        "estimator__weigher": [None, ReliefF(3)],
        "estimator__weights": ["uniform", "distance"],
    }
    search = GridSearchCV(TableClassifier(WeightedKNeighborsClassifier(5)), grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_score_ > 0.5
    default = GridSearchCV(TableClassifier(), {"estimator__weigher": [None], "estimator__p": [1, 2]}, cv=3)
    assert default.fit(X, y).best_estimator_.estimator.weigher is None


def test_cross_validation_of_frames():
    X, y = raw_table()
    scores = cross_val_score(TableClassifier(LearnedVotesClassifier(weigher=None)), X, y, cv=4, error_score="raise")
    assert scores.mean() > 0.55
    other = cross_val_score(TableClassifier(LearnedVotesClassifier(weigher=None)), as_polars(X), y, cv=4)
    np.testing.assert_allclose(scores, other)


def test_eight_threads_say_the_same():
    X, y = raw_table()
    new, _ = raw_table(64, seed=5)
    for estimator in (LearnedVotesClassifier(10, None), WeightedKNeighborsClassifier(3)):
        model = TableClassifier(estimator).fit(X, y)
        expected = model.predict_proba(new)
        fresh = TableClassifier(estimator).fit(X, y)  # nothing is cached yet
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda i, m=fresh: m.predict_proba(new.iloc[[i % 64]])[0], range(256)))
        np.testing.assert_array_equal(found, np.tile(expected, (4, 1)))
        many = TableClassifier(clone(estimator).set_params(n_jobs=8)).fit(X, y)
        np.testing.assert_array_equal(many.predict_proba(new), expected)


def test_importances_are_those_of_the_columns_of_the_table():
    X, y = raw_table()
    model = TableClassifier(WeightedKNeighborsClassifier(3, ReliefF(5))).fit(X, y)
    inner = model.estimator_.feature_importances_
    expected = [0, inner[0] + inner[3], 0, 0, inner[1], inner[2]]
    np.testing.assert_allclose(model.feature_importances_, expected)
    assert model.weights_.feature_names == ("size", "colour", "income", "size is missing")


# Numbers


def test_a_table_of_numbers_to_predict():
    X, _ = raw_table(120)
    y = X["income"] / 1000 + 3 * X["size"].fillna(0)
    model = TableRegressor().fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.8
    table = model.predict_table(X[80:83])
    assert table.index.tolist() == X["patient"][80:83].tolist()
    np.testing.assert_array_equal(table["prediction"], model.predict(X[80:83]))
    both = TableRegressor(WeightedKNeighborsRegressor(3)).fit(X[:80], np.column_stack([y, -y])[:80])
    assert both.predict_table(X[80:83]).columns.tolist() == ["prediction 0", "prediction 1"]
    np.testing.assert_allclose(both.predict(X[80:83])[:, 0], -both.predict(X[80:83])[:, 1])
