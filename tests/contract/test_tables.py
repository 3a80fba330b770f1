"""The container and the layout of a table, and the number of threads, change no bit; nothing is written to."""

import inspect

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from contract.cases import CASES, SPARSE, answers, assert_same, make, small_table

pytestmark = pytest.mark.filterwarnings("ignore")


def misaligned(array):
    """The same numbers, one byte off: they begin at no multiple of their size."""
    raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
    out = raw[1:].view(array.dtype).reshape(array.shape)
    out[...] = array
    assert not out.flags.aligned
    return out


def read_only(array):
    array.flags.writeable = False
    return array


NAMES = list("abcde")
LAYOUTS = {
    "columns first": np.asfortranarray,
    "every second cell": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "misaligned and read-only": lambda X: read_only(misaligned(X)),
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
}
FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, sparse columns": lambda X: pd.DataFrame(X, columns=NAMES).astype(pd.SparseDtype(float, 0.0)),
    "pandas, types of Arrow": lambda X: pd.DataFrame(X, columns=NAMES).astype(pd.ArrowDtype(pa.float64())),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "Arrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}
every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_arrays_of_any_layout_are_the_same_table(name):
    X, y = small_table(name)
    wanted = answers(make(name).fit(X, y), X)
    for change in LAYOUTS.values():
        assert_same(answers(make(name).fit(change(X), y), change(X)), wanted)


@every_case
def test_frames_of_any_library_are_the_same_table(name):
    X, y = small_table(name)
    wanted = answers(make(name).fit(FRAMES["pandas"](X), y), FRAMES["pandas"](X))
    targets = {"polars": lambda y: pl.Series(y.tolist()), "pandas": pd.Series, "pandas, types of Arrow": pd.Series}
    for kind, change in FRAMES.items():
        model = make(name).fit(change(X), targets.get(kind, list)(y))
        assert list(model.feature_names_in_) == NAMES
        assert_same(answers(model, change(X)), wanted)


@every_case
def test_the_number_of_threads_changes_no_bit(name):
    parameters = [one for one in CASES[name].get_params() if one.endswith("n_jobs")]
    if not parameters:
        pytest.skip("it works in one thread")
    X, y = small_table(name, 150)
    one, many = (make(name).set_params(**dict.fromkeys(parameters, n_jobs)) for n_jobs in (1, 5))
    with joblib.parallel_config("threading"):  # strata would start processes
        found, wanted = (answers(model.fit(X, y), X) for model in (many, one))
    assert_same(found, wanted)
    for key, value in wanted.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.asarray(found[key]).tobytes() == value.tobytes()


def untidy(rows):
    """The same sparse rows with entries that are not sorted, and a stored zero."""
    rows = sparse.csr_matrix(rows)
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        for part in (rows.indices, rows.data):
            part[begin:end] = part[begin:end][::-1].copy()
    rows.has_sorted_indices = False
    return rows


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_rows_of_any_form_are_the_dense_table(name):
    X, y = small_table(name)
    assert_same(
        answers(make(name).fit(sparse.csr_matrix(X), y), X), answers(make(name).fit(X, y), X), rtol=1e-7, atol=1e-9
    )
    wanted = answers(make(name).fit(sparse.csr_matrix(X), y), sparse.csr_matrix(X))
    for form in (sparse.csc_matrix, sparse.coo_array, untidy):
        rows = form(X)
        before = {part: getattr(rows, part).copy() for part in ("data", "indices", "indptr") if hasattr(rows, part)}
        assert_same(answers(make(name).fit(rows, y), rows), wanted)
        for part, value in before.items():
            np.testing.assert_array_equal(getattr(rows, part), value)


@pytest.mark.parametrize("name", sorted(set(CASES) - set(SPARSE)))
def test_sparse_rows_are_refused_where_the_tags_say_so(name):
    X, y = small_table(name)
    with pytest.raises((TypeError, ValueError), match="[Ss]parse"):
        make(name).fit(sparse.csr_matrix(X), y)


@every_case
def test_the_arrays_of_the_caller_stay_as_they_are(name):
    X, y = small_table(name)
    rows, target, weight = X.copy(), y.copy(), np.ones(len(X))
    model = make(name)
    if takes_weights(model):
        model.fit(rows, target, sample_weight=weight)
    else:
        model.fit(rows, target)
    answers(model, rows)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(target, y)
    np.testing.assert_array_equal(weight, 1.0)


def takes_weights(model):
    return hasattr(model, "fit") and "sample_weight" in inspect.signature(model.fit).parameters


@every_case
def test_a_second_fit_forgets_the_first(name):
    X, y = small_table(name)
    other, target = X[::-1, :3][:40], y[::-1][:40]
    model = make(name).fit(X, y)
    assert_same(answers(model.fit(other, target), other), answers(make(name).fit(other, target), other))


WEIGHTED = [name for name in CASES if takes_weights(CASES[name])]


def rows_and_answers(name, X, y, weight=None):
    """What a fit says of other rows, without what counts the rows themselves."""
    model = make(name)
    model = model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)
    found = answers(model, QUERIES)
    for counts in ("intervals_", "weights_", "row", "distance", "transform"):
        found.pop(counts, None)
    return found


QUERIES = np.round(np.random.default_rng(3).normal(size=(25, 5)), 2)


@pytest.mark.parametrize("name", WEIGHTED)
def test_equal_weights_of_rows_are_none(name):
    X, y = small_table(name)
    wanted = rows_and_answers(name, X, y)
    for kind in (list, pl.Series):
        assert_same(rows_and_answers(name, X, y, kind(np.ones(len(X)))), wanted)


#: A row of weight 2 is a row given twice, where rows are counted and not learned from as neighbours of each other.
REPEATED = ["IB1", "IBk", "KStar", "LWL", "LWL, naive Bayes", "RepresentativeIntervals", "WeightedKNeighborsClassifier",
            "WeightedKNeighborsRegressor", "k-NN with intervals", "WIBK",
            "LearnedVotesClassifier", "LearnedVotesRegressor"]  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
def test_a_weight_of_two_is_a_row_given_twice_and_of_zero_a_row_that_is_not_there(name):
    X, y = small_table(name)
    times = np.random.default_rng(4).integers(0, 3, size=len(X))
    repeated = rows_and_answers(name, np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_same(rows_and_answers(name, X, y, times), repeated, rtol=1e-6, atol=1e-9)


#: What does not depend on the order of rows, not even where distances are tied.
IN_ANY_ORDER = ["Relief", "RelievedF", "ReliefF", "RReliefF", "SURF", "SURFStar", "MultiSURF", "MultiSURFStar",
                "IRelief", "ClassRelief", "TuRF", "MBIW", "NPDR", "NPDR of numbers, permutations", "SURF of numbers",
                "ScoreWeigher", "MultiSURF of numbers", "RepresentativeIntervals", "NCAWeights",
                "LearnedVotesClassifier", "LearnedVotesRegressor"]  # fmt: skip
OF_ROWS = ("instance_weights_", "weights_", "predict", "p_values_", "q_values_")


@pytest.mark.parametrize("name", IN_ANY_ORDER)
def test_the_order_of_rows_does_not_matter(name):
    X, y = small_table(name)
    order = np.random.default_rng(5).permutation(len(X))
    found, wanted = rows_and_answers(name, X[order], y[order]), rows_and_answers(name, X, y)
    for part in OF_ROWS:
        found.pop(part, None)
        wanted.pop(part, None)
    assert_same(found, wanted, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "name",
    sorted(
        {*IN_ANY_ORDER, "Simba", "SimbaMBIW"} - {"TuRF", "MBIW", "RepresentativeIntervals", "LearnedVotesRegressor"}
    ),
)
def test_float32_is_close(name):
    X, y = small_table(name)
    X = X + 0.01 * np.random.default_rng(6).normal(size=X.shape)  # no distances are tied
    model, single = make(name).fit(X, y), make(name).fit(X.astype(np.float32), y)
    wanted = model.feature_weights_ if hasattr(model, "feature_weights_") else model.predict(QUERIES)
    found = single.feature_weights_ if hasattr(model, "feature_weights_") else single.predict(QUERIES)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-3 * np.abs(wanted).max())
    else:
        np.testing.assert_array_equal(found, wanted)


LEVELS = ["low", "middle", "high"]


def mixed_tables(name, n=60):
    """The same numbers with holes and categories, as a frame of pandas, of polars, and of Arrow's types."""
    X, y = small_table(name, n)
    rng = np.random.default_rng(7)
    size = np.where(rng.random(n) < 0.1, np.nan, X[:, 0])
    colour, level = rng.choice(["red", "green", "blue"], n), rng.choice(LEVELS, n)
    plain = pd.DataFrame({"size": size, "count": rng.integers(0, 4, n), "colour": colour,
                          "level": pd.Categorical(level, LEVELS, ordered=True)})  # fmt: skip
    of_polars = pl.DataFrame(
        {"size": size, "count": plain["count"].to_numpy(), "colour": colour.tolist()}
    ).with_columns(pl.Series("level", level.tolist(), dtype=pl.Enum(LEVELS)), pl.col("size").fill_nan(None))
    types = {"size": pa.float64(), "count": pa.int32(), "colour": pa.large_string()}
    return y, plain, of_polars, plain.astype({column: pd.ArrowDtype(kind) for column, kind in types.items()})


@every_case
def test_categories_and_missing_cells_of_any_library(name):
    y, plain, *others = mixed_tables(name)
    wanted = answers(make(name).fit(plain, y), plain)
    for other in others:
        assert_same(answers(make(name).fit(other, y), other), wanted)


@every_case
def test_masked_cells_are_missing(name):
    X, y = small_table(name)
    hidden = np.random.default_rng(8).random(X.shape) < 0.05
    lacking, masked = np.where(hidden, np.nan, X), np.ma.masked_array(np.where(hidden, -999.0, X), hidden)
    assert_same(answers(make(name).fit(masked, y), masked), answers(make(name).fit(lacking, y), lacking))


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_pipeline_hands_weights_of_rows_over_if_they_are_asked_for(name):
    X, y = small_table(name)
    weight = np.random.default_rng(9).uniform(0.5, 2, size=len(X))
    wanted = rows_and_answers(name, X, y, weight)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(name).set_fit_request(sample_weight=True)
        if takes_weights(getattr(model, "weigher", None)):  # the weigher inside is asked for itself
            model.weigher.set_fit_request(sample_weight=True)
        asking = make_pipeline(FunctionTransformer(), model)
        silent = make_pipeline(FunctionTransformer(), make(name))
        with pytest.raises(UnsetMetadataPassedError):
            silent.fit(X, y, sample_weight=weight)
        found = answers(asking.fit(X, y, sample_weight=weight)[-1], QUERIES)
    assert_same({key: found[key] for key in wanted}, wanted)
