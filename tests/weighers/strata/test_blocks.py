"""Strata on Dask: partitions, a client, workers that die, and input that cannot work."""

import os

import joblib
import numpy as np
import pandas as pd
import pytest
from naive import strata as naive
from sklearn.datasets import make_classification
from support.clusters import Deadly, Slow, kill_who_marked_last, meanwhile, two_workers

import weighbors._parallel.cluster as cluster_of
from weighbors import MBIW, Democratic, EvolutionaryWeigher, ReliefF, Stratified, WeightedKNeighborsClassifier, Weights
from weighbors.exceptions import ClusterError, InvalidDataError, NothingSelectedWarning

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

X, Y = make_classification(600, 5, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0)
X = np.round(X, 6)
NAMES = list("abcde")


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


def search(tasks="IS", **options):
    return EvolutionaryWeigher(tasks, **{"population_size": 8, "max_evaluations": 80} | options)


def arrays(chunks=150, rows=X, labels=Y):
    return da.from_array(rows, chunks=(chunks, rows.shape[1])), da.from_array(labels, chunks=chunks)


def frames(n=4, rows=X, labels=Y):
    frame = dd.from_pandas(pd.DataFrame(rows, columns=NAMES).assign(y=labels), npartitions=n, sort=False)
    return frame[NAMES], frame["y"]


def same(one, other):
    for part in ("feature_weights", "instance_scales", "votes", "instance_mask", "feature_mask"):
        np.testing.assert_array_equal(getattr(one.weights_, part), getattr(other.weights_, part))


@pytest.mark.parametrize(
    "weigher",
    [Stratified(search("IS+FS+IW"), 4, random_state=0), Democratic(search("IS+FS"), 3, n_strata=3, random_state=0)],
    ids=["stratified", "democratic"],
)
def test_one_partition_is_the_table_in_memory(weigher):
    local = weigher.fit(X, Y)
    parts = {name: getattr(local.weights_, name) for name in ("instance_mask", "feature_mask", "instance_scales")}
    for one in (arrays(600), frames(1)):
        weigher.fit(*one)
        for name, part in parts.items():
            np.testing.assert_array_equal(getattr(weigher.weights_, name), part)
    assert list(weigher.get_feature_names_out()) == [n for n, kept in zip(NAMES, weigher.support_, strict=True) if kept]


def test_partitions_against_the_oracle():
    fitted = Stratified(search("IS+FW"), 6, random_state=0).fit(*arrays())
    assert fitted.n_strata_ == 6
    member = fitted.membership_[0]
    for begin in range(0, 600, 150):  # strata stay inside partitions
        assert not set(member[begin : begin + 150]) & set(np.delete(member, np.s_[begin : begin + 150]))
    seeds = {(row["round"], row["stratum"]): row["seed"] for row in fitted.strata_.to_dict("records")}
    found = naive.fits(search("IS+FW"), X, Y, fitted.membership_, seeds)
    np.testing.assert_array_equal(fitted.instance_support_, naive.keeps(found, 600) == 1)
    np.testing.assert_allclose(fitted.feature_weights_, naive.mean_features(found), rtol=1e-12)
    model = WeightedKNeighborsClassifier(1, fitted.weights_).fit(X, Y)
    assert model.score(X, Y) > 0.8


def test_democracy_over_partitions_against_the_oracle():
    few, labels = X[::4], Y[::4]
    fitted = Democratic(search(), 3, n_strata=3, random_state=1).fit(*arrays(50, few, labels))
    seeds = {(row["round"], row["stratum"]): row["seed"] for row in fitted.strata_.to_dict("records")}
    removal = 3 - naive.keeps(naive.fits(search(), few, labels, fitted.membership_, seeds), 150)
    np.testing.assert_array_equal(fitted.removal_votes_, removal)
    wanted = naive.judged(few, labels, removal, 3, 0.75, [np.ones(5, dtype=bool)])
    np.testing.assert_allclose(fitted.thresholds_["error"], [one[2] for one in wanted], atol=1e-12)
    np.testing.assert_allclose(fitted.thresholds_["f"], [one[4] for one in wanted], atol=1e-12)
    assert fitted.threshold_ == min(wanted, key=lambda one: (round(one[4], 12), one[3]))[0]


@pytest.mark.parametrize("partitioned", [False, True])
def test_missing_values_are_at_the_range_of_the_whole_table(partitioned):
    few, labels = X[::4].copy(), Y[::4]
    few[np.random.default_rng(0).random(few.shape) < 0.15] = np.nan
    given = arrays(50, few, labels) if partitioned else (few, labels)
    fitted = Democratic(search(), 3, n_strata=3, random_state=1).fit(*given)
    gap = np.nanmax(few, axis=0) - np.nanmin(few, axis=0)
    wanted = naive.judged(few, labels, fitted.removal_votes_, 3, 0.75, [np.ones(5, dtype=bool)], gap=gap)
    np.testing.assert_allclose(fitted.thresholds_["error"], [one[2] for one in wanted], atol=1e-12)


def test_reduce_and_transform_stay_with_dask():
    fitted = Stratified(search("IS+FS"), 4, random_state=0).fit(*arrays())
    small, labels = fitted.reduce(*arrays())
    assert small.numblocks[0] == 4
    np.testing.assert_array_equal(small.compute(), X[fitted.sample_indices_][:, fitted.support_])
    np.testing.assert_array_equal(labels.compute(), Y[fitted.sample_indices_])
    with pytest.warns(NothingSelectedWarning, match="Stratified selected rows"):
        np.testing.assert_array_equal(fitted.transform(arrays()[0]).compute(), X[:, fitted.support_])
    np.testing.assert_array_equal(fitted.reduce(X), small.compute())
    rows, labels = arrays()
    keep = rows[:, 0] > -100  # all of them, but Dask does not know
    again = fitted.reduce(rows[keep])
    assert again.shape == small.shape
    np.testing.assert_array_equal(again.compute(), small.compute())
    frame, y = frames()
    fitted.fit(frame, y)
    small, labels = fitted.reduce(frame, y)
    kept = [name for name, keep in zip(NAMES, fitted.support_, strict=True) if keep]
    pd.testing.assert_frame_equal(small.compute(), pd.DataFrame(X, columns=NAMES).loc[fitted.sample_indices_, kept])
    np.testing.assert_array_equal(labels.compute(), Y[fitted.sample_indices_])
    with pytest.raises(InvalidDataError, match="reduce takes the 600 rows"):
        fitted.reduce(frames(2, X[:300], Y[:300])[0])


def test_unknown_chunk_sizes_and_uneven_partitions():
    rows, labels = arrays()
    known = Stratified(search(), n_strata=8, random_state=0).fit(rows, labels)
    keep = rows[:, 0] > -100  # all of them, but Dask does not know
    unknown = Stratified(search(), n_strata=8, random_state=0).fit(rows[keep], labels[keep])
    same(known, unknown)
    uneven = Stratified(search(), 7, random_state=0).fit(rows.rechunk(((400, 200), (3, 2))), labels)
    assert [len(set(uneven.membership_[0, part])) for part in (np.s_[:400], np.s_[400:])] == [5, 2]


def test_categories_in_partitions():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue"], 400), "size": rng.normal(size=400)})
    y = np.where(frame["size"] > 0, "yes", "no")
    table = dd.from_pandas(frame.assign(y=y), npartitions=2, sort=False)
    fitted = Stratified(ReliefF(3), 2, random_state=0).fit(table[["colour", "size"]], table["y"])
    parts = [ReliefF(3).fit(frame.iloc[i : i + 200], y[i : i + 200]).feature_weights_ for i in (0, 200)]
    np.testing.assert_allclose(fitted.feature_weights_, np.mean(parts, axis=0), rtol=1e-12)


def test_categories_that_partitions_meet_in_another_order():
    """A category has another code in each partition, and neighbours are sought in all of them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue", "grey"], 400), "size": rng.normal(size=400).round(1)})
    frame.loc[:199, "colour"] = frame.loc[:199, "colour"].replace("grey", "blue")
    frame.loc[::9, "colour"] = None
    y = np.where((frame["size"] > 0) ^ (frame["colour"] == "red"), "yes", "no")
    table = dd.from_pandas(frame.assign(y=y), npartitions=2, sort=False)
    fitted = Democratic(search(), 2, n_strata=2, random_state=0).fit(table[["colour", "size"]], table["y"])
    # The error of each threshold is that of the nearest neighbour among the rows it leaves, in one table.
    codes = np.column_stack([pd.factorize(frame["colour"])[0], frame["size"]]).astype(float)
    codes[codes[:, 0] < 0, 0] = np.nan
    for _, row in fitted.thresholds_.iterrows():
        left = Weights(instance_mask=fitted.removal_votes_ < row["threshold"])
        model = WeightedKNeighborsClassifier(1, left, categorical_features=[0]).fit(codes, y)
        nearest = model.kneighbors(None, 1, return_distance=False)[:, 0]
        assert row["error"] == pytest.approx(np.mean(y[nearest] != y))


@pytest.mark.parametrize("kind", [Stratified, Democratic])
def test_a_client_gives_the_local_result(client, kind):
    weigher = kind(search("IS+FS"), n_strata=4, random_state=3)
    local = kind(search("IS+FS"), n_strata=4, random_state=3).fit(X, Y)
    with joblib.parallel_config("dask", client=client):
        same(weigher.fit(X, Y), local)
    parts = kind(search("IS+FS"), n_strata=4, random_state=3)
    with dask.config.set(scheduler="synchronous"):
        here = kind(search("IS+FS"), n_strata=4, random_state=3)
        with client.as_current():
            here_weights = here.fit(*arrays(300)).weights_
    assert parts.fit(*arrays(300)).weights_ == here_weights


def test_a_worker_that_dies_changes_nothing(client, tmp_path):
    expected = Stratified(Slow(seconds=0), 24, random_state=0).fit(*arrays(300))
    slow = Stratified(Slow(str(tmp_path), 0.25), 24, random_state=0)
    begun = lambda: len(os.listdir(tmp_path)) >= 3  # noqa: E731
    with client.as_current(), meanwhile(lambda: kill_who_marked_last(tmp_path), when=begun) as killed:
        slow.fit(*arrays(300))
    assert killed
    assert len(os.listdir(tmp_path)) > 24  # something was computed again
    same(slow, expected)


def test_a_scheduler_that_dies_in_the_middle_is_told(tmp_path):
    with two_workers() as client:
        slow = Stratified(Slow(str(tmp_path), 2.0), 40, random_state=0)
        close = client.cluster.close
        with (
            client.as_current(),
            meanwhile(lambda: close(timeout=5), when=lambda: len(os.listdir(tmp_path)) >= 2),
            pytest.raises(ClusterError, match=r"scheduler|gave up"),
        ):
            slow.fit(*arrays(300))


def test_a_cluster_without_workers_does_not_hang(monkeypatch):
    monkeypatch.setattr(cluster_of, "PATIENCE", 1.0)
    told = "has had no worker for 1 seconds"
    with two_workers(n_workers=0) as client, client.as_current(), pytest.raises(ClusterError, match=told):
        Stratified(search(), 4).fit(*arrays())


@pytest.mark.slow
def test_all_workers_gone_in_the_middle_does_not_hang(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster_of, "PATIENCE", 2.0)
    with two_workers(n_workers=1) as client:
        slow = Stratified(Slow(str(tmp_path), 0.5), 40, random_state=0)
        cluster = client.cluster
        with (
            client.as_current(),
            meanwhile(lambda: cluster.scale(0), when=lambda: len(os.listdir(tmp_path)) >= 2),
            pytest.raises(ClusterError, match="has had no worker for 2 seconds"),
        ):
            slow.fit(*arrays(300))


def test_partitions_that_cannot_work():
    order = np.argsort(Y, kind="stable")
    with pytest.raises(InvalidDataError, match=r"partition 0 of 4 has no row of class 1, .* Shuffle the rows"):
        Stratified(search()).fit(*arrays(150, X[order], Y[order]))
    rows, labels = arrays()
    sizes = (150, 150, 150, 150, 0)
    with pytest.raises(InvalidDataError, match="partition 4 is empty. Drop empty partitions"):
        Stratified(search()).fit(da.from_array(X, chunks=(sizes, 5)), da.from_array(Y, chunks=(sizes,)))
    with pytest.raises(InvalidDataError, match="n_strata=3 is less than the 4 partitions"):
        Stratified(search(), 3).fit(rows, labels)
    with pytest.raises(InvalidDataError, match=r"n_strata=100 in partition 0 is more than the 45 instances of class 1"):
        Stratified(search(), 400).fit(rows, labels)
    with pytest.raises(InvalidDataError, match="both be Dask collections"):
        Stratified(search()).fit(rows, Y)
    with pytest.raises(InvalidDataError, match="both be Dask collections"):
        Stratified(search()).fit(X, labels)
    with pytest.raises(InvalidDataError, match=r"inconsistent numbers of samples: \[600, 300\]"):
        Stratified(search()).fit(rows, labels[:300])
    with pytest.raises(InvalidDataError, match="X has 4 partitions and y has 2"):
        Stratified(search()).fit(frames(4)[0], frames(2)[1])
    with pytest.raises(InvalidDataError, match="fit parameters .sample_weight. are not handed to partitions"):
        Stratified(ReliefF()).fit(rows, labels, sample_weight=np.ones(600))
    with pytest.raises(InvalidDataError, match="y must be a vector; got 2 dimensions"):
        Stratified(search()).fit(rows, labels[:, None])
    missing = Y.astype(float)
    missing[160] = np.nan
    with pytest.raises(InvalidDataError, match="1 labels are missing in partition 1"):
        Stratified(search()).fit(rows, da.from_array(missing, chunks=150))
    with pytest.raises(InvalidDataError, match="at least 2 classes"):
        Stratified(search()).fit(rows, da.zeros(600, chunks=150))


def test_columns_that_differ_between_partitions_are_told():
    frame = pd.DataFrame(X, columns=NAMES)
    good, bad = frame[:300], frame[300:].rename(columns={"b": "z"})
    table = dd.from_delayed([dask.delayed(good), dask.delayed(bad)], meta=good.iloc[:0], verify_meta=False)
    labels = dd.from_delayed([dask.delayed(pd.Series(part)) for part in (Y[:300], Y[300:])], verify_meta=False)
    with pytest.raises(InvalidDataError, match=r"columns of partition 1 differ .* lacks \['b'\] and has \['z'\]"):
        Stratified(search()).fit(table, labels)
    blocks = [da.from_delayed(dask.delayed(part), (300, 5), float) for part in (X[:300], X[300:, :4])]
    with pytest.raises(InvalidDataError, match="partition 1 has 4 columns; 5 are expected"):
        Stratified(search()).fit(da.concatenate(blocks), da.from_array(Y, chunks=300))
    short = [da.from_delayed(dask.delayed(part), (300, 5), float) for part in (X[:300], X[300:500])]
    with pytest.raises(InvalidDataError, match="partition 1 has 200 rows and 300 labels"):
        Stratified(search()).fit(da.concatenate(short), da.from_array(Y, chunks=300))


def test_votes_over_partitions():
    fitted = Stratified(MBIW(), 4, random_state=0).fit(*arrays(300))
    found = naive.fits(MBIW(random_state=0), X, Y, fitted.membership_, {})
    np.testing.assert_allclose(fitted.instance_weights_, naive.instance_weights(found, 600), rtol=1e-12)


@pytest.mark.slow
def test_a_weigher_that_kills_its_workers_is_told(monkeypatch):
    monkeypatch.setattr(cluster_of, "PATIENCE", 20.0)  # Dask's nannies, too, give up in the end
    told = "several workers died on the same task|has had no worker for 20 seconds"
    with two_workers() as client, client.as_current(), pytest.raises(ClusterError, match=told):
        Stratified(Deadly(), 2, random_state=0).fit(*arrays(300))


def test_files_are_fitted_as_the_table_in_memory(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    from weighbors.weighers.strata import table as strata_table

    frame = pd.DataFrame(X, columns=NAMES)
    (tmp_path / "folder").mkdir()
    frame.assign(y=Y)[:400].to_parquet(tmp_path / "folder" / "0.parquet", row_group_size=90)
    frame.assign(y=Y)[400:].to_parquet(tmp_path / "folder" / "1.parquet", row_group_size=90)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)
    tables = [(tmp_path / "folder", "y"), (str(tmp_path / "X.npy"), Y), (tmp_path / "X.npy", str(tmp_path / "y.npy"))]
    for weigher in (
        Stratified(search("IS+FS"), 4, random_state=0),
        Democratic(search(), 3, n_strata=3, random_state=0),
    ):
        local = weigher.fit(frame, Y).weights_
        for given in tables:  # less than 32 MiB are one block
            weigher.fit(*given)
            np.testing.assert_array_equal(weigher.weights_.instance_mask, local.instance_mask)
            np.testing.assert_array_equal(weigher.weights_.feature_mask, local.feature_mask)
    monkeypatch.setattr(strata_table, "BLOCK_BYTES", 210 * 5 * 8)  # two row groups of 90, or 210 rows of an array
    fitted = Stratified(search(), 6, random_state=0).fit(tmp_path / "folder", "y")
    sizes = [180, 180, 130, 110]  # row groups 90 + 90, 90 + 90, 40 + 90, 90 + 20
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        part = np.s_[end - size : end]
        assert not set(fitted.membership_[0, part]) & set(np.delete(fitted.membership_[0], part))
    with joblib.parallel_config("threading", n_jobs=2):
        same(Stratified(search(), 6, random_state=0).fit(tmp_path / "folder", "y"), fitted)
