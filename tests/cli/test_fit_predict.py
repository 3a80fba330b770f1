"""``weighbors fit`` and ``weighbors predict``: a table in, a model, labels out."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from support.tables import mixed_table

from weighbors import (
    LearnedVotesClassifier,
    ReliefF,
    TableClassifier,
    TableRegressor,
    WeightedKNeighborsClassifier,
    WeightedKNeighborsRegressor,
)
from weighbors.cli._estimators import Weigher
from weighbors.cli.predict import _score_numbers


def test_a_mixed_table_from_fit_to_labels(weighbors, mixed, tmp_path):
    done = weighbors("fit", mixed, "--target", "kind", "-o", "model.wb")
    assert done.code == 0
    assert "'id' is left out: it counts the rows" in done.err
    assert "'unit' is left out: all its values are the same" in done.err
    assert "60 rows, 3 features, 2 classes" in done.out
    assert done.out.splitlines()[2].split()[0] in ("'size'", "'colour'")
    mixed_table(40, seed=1).to_csv("new.csv", index=False)
    done = weighbors("predict", "model.wb", "new.csv", "-o", "labels.csv")
    assert done.code == 0
    labels = pd.read_csv("labels.csv")
    assert list(labels.columns) == ["row", "prediction", "probability of high", "probability of low"]
    assert labels["row"].tolist() == list(range(100, 140))
    right = (labels["prediction"] == mixed_table(40, seed=1)["kind"]).mean()
    assert right > 0.85
    assert f"{round(right * 40)} of 40 predictions agree" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "mixed.csv", "model.wb", "new.csv"]


def test_json_and_stdout(weighbors, mixed):
    description = json.loads(weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--model", "knn", "--json").out)
    assert description["features"] == ["size", "noise", "colour"]
    assert [column["name"] for column in description["left_out"]] == ["id", "unit"]
    assert description["settings"]["weigher"] == "relieff"
    assert sum(description["classes"].values()) == 60
    assert set(description["weights"]["weight"]) == {"size", "noise", "colour"}
    done = weighbors("predict", "m.wb", mixed, "--quiet")
    lines = done.out.splitlines()
    assert lines[0] == "row,prediction,probability of high,probability of low"
    assert len(lines) == 61
    assert done.err == ""
    description = json.loads(weighbors("predict", "m.wb", mixed, "--json").out)
    assert description["prediction"] == [line.split(",")[1] for line in lines[1:]]
    assert sum(description["counts"].values()) == description["rows"] == 60


@pytest.mark.parametrize("weigher", list(Weigher))
def test_every_weigher(weighbors, mixed, weigher):
    short = ["--evaluations", 200] if weigher is Weigher.EvolutionaryWeigher else []
    done = weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--weigher", weigher.value, "--folds", 0, *short)
    assert done.code == 0, done.err
    assert f"5-NN, weigher {weigher.value}" in done.out
    inner = TableClassifier.load("m.wb").estimator_
    assert inner.weigher is None if weigher is Weigher.none else type(inner.weigher).__name__ == weigher.name
    done = weighbors("predict", "m.wb", mixed)
    assert done.code == 0
    labels = pd.read_csv(StringIO(done.out))["prediction"]
    assert (labels == mixed_table()["kind"]).mean() > 0.8


def test_the_weighers_are_the_librarys():
    """Only wrappers of other weighers, instance selectors, and what is a part of WIB-K or for numbers are not there."""
    from weighbors import weighers
    from weighbors.weighers import instances

    others = {
        *instances.__all__,
        "InstanceSampler",
        "Democratic",
        "FeatureSelector",
        "Stratified",
        "RepresentativeIntervals",
        "RReliefF",
    }
    assert {weigher.name for weigher in Weigher} - {"none"} == set(weighers.__all__) - others


def test_the_default_is_learned_votes(weighbors, mixed):
    """Without options the model is that of TableClassifier, and with an option of the k-NN it is a k-NN."""
    frame = mixed_table()
    done = weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--folds", 0)
    assert "learned votes" in done.out
    expected = TableClassifier(LearnedVotesClassifier(random_state=0)).fit(frame.drop(columns="kind"), frame["kind"])
    np.testing.assert_array_equal(TableClassifier.load("m.wb").predict_proba(frame), expected.predict_proba(frame))
    for option in (["-k", 3], ["--weigher", "none"], ["--votes", "distance"], ["--select", 2]):
        assert (
            "-NN, weigher" in weighbors("fit", mixed, "-t", "kind", "-o", "n.wb", "--folds", 0, "--force", *option).out
        )


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        (["--model", "votes"], LearnedVotesClassifier, "learned votes"),
        (["--model", "votes", "--weigher", "nca", "-k", 20], LearnedVotesClassifier, "learned votes of 20 neighbours"),
    ],
)
def test_every_model(weighbors, mixed, options, kind, said):
    done = weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--folds", 0, *options)
    assert done.code == 0, done.err
    assert f"2 classes; {said}" in done.out
    model = TableClassifier.load("m.wb")
    assert type(model.estimator_) is kind
    votes = kind is LearnedVotesClassifier
    assert (model.scale, model.missing) == (("standard", "indicator") if votes else ("range", "distance"))
    labels = pd.read_csv(StringIO(weighbors("predict", "m.wb", mixed).out))["prediction"]
    assert (labels == mixed_table()["kind"]).mean() > 0.8


def test_parameters_reach_the_model(weighbors, mixed):
    def fitted(*options):
        done = weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--folds", 0, "--force", *options)
        assert done.code == 0, done.err
        return TableClassifier.load("m.wb")

    for strategy in ("order", "sample", "normal", "unmodified"):
        model = fitted("--weigher", "simbambiw", "--strategy", strategy, "--seed", 4)
        assert model.estimator_.weigher.strategy == strategy
        assert model.estimator_.weigher.random_state == 4
    for scale in ("standard", "range", "rank", "none"):
        assert fitted("--scale", scale).scale == (None if scale == "none" else scale)
    model = fitted("--weigher", "evolution", "--tasks", "fs+fw", "--evaluations", 60)
    assert (model.estimator_.weigher.tasks, model.estimator_.weigher.max_evaluations) == ("FS+FW", 60)
    for weigher in ("relieff", "nca"):
        model = fitted("--weigher", weigher, "--select", 1)
        assert np.count_nonzero(model.feature_importances_) == 1
    assert fitted("--votes", "distance").estimator_.weights == "distance"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "votes", "--votes", "distance"], "--votes is for --model knn"),
        (["--weigher", "none", "--select", 2], "--select needs a --weigher that ranks features"),
        (["--weigher", "mbiw", "--select", 2], "--select needs a --weigher that ranks features"),
        (["--model", "votes", "--select", 2], "--select needs a --weigher that ranks features"),
        (["--strategy", "normal"], "--strategy is for --weigher simbambiw"),
        (["--tasks", "FS"], "--tasks and --evaluations are for --weigher evolution"),
        (["--weigher", "evolution", "--tasks", "FS+FS"], "--tasks must be some of IS, FS, IW, FW, each once"),
    ],
)
def test_options_that_contradict_each_other(weighbors, mixed, options, message):
    done = weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert not Path("m.wb").exists()


def test_the_cross_validated_score(weighbors, mixed):
    """Folds by hand with scikit-learn, and Wilson's formula as he wrote it in 1927."""
    found = json.loads(weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--json", "--seed", 2).out)
    score = found["cross_validation"]
    X, y = mixed_table().drop(columns="kind"), mixed_table()["kind"]
    model = TableClassifier(WeightedKNeighborsClassifier(5, ReliefF()), "range", missing="distance")
    guess = cross_val_predict(model, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=2))
    p, n, z = float((guess == y).mean()), 60, 1.959964
    assert score["score"] == pytest.approx(p)
    middle, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    expected = [(middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)]
    assert [score["low"], score["high"]] == pytest.approx(expected, abs=1e-6)
    assert (score["metric"], score["folds"], score["rows"]) == ("accuracy", 5, 60)
    done = weighbors("fit", mixed, "-t", "kind", "-o", "n.wb", "--seed", 2)
    assert done.out.splitlines()[-1] == (
        f"cross-validated accuracy {p:.3f}, 95% interval {expected[0]:.3f} to {expected[1]:.3f} (5 folds, 60 rows)"
    )
    assert Path("m.wb").read_bytes() == Path("n.wb").read_bytes()
    assert "cross-validated" not in weighbors("fit", mixed, "-t", "kind", "-o", "o.wb", "--folds", 0).out


def test_a_score_that_is_not_possible(weighbors):
    """Five neighbours of six rows: the parts of the cross-validation are too small, the model is not."""
    mixed_table(12).head(6).assign(kind=["low", "high"] * 3).to_csv("six.csv", index=False)
    done = weighbors("fit", "six.csv", "-t", "kind", "-o", "m.wb", "--model", "knn")
    assert done.code == 0, done.err
    assert "there is no cross-validated score: " in done.err
    assert "cross-validated" not in done.out


def test_same_seed_same_file(weighbors, mixed):
    for name in ("a.wb", "b.wb"):
        weighbors("fit", mixed, "-t", "kind", "-o", name, "--weigher", "simba", "--seed", 3)
    assert Path("a.wb").read_bytes() == Path("b.wb").read_bytes()


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "arff", "dat", "npz"])
def test_other_formats(weighbors, tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    frame = mixed_table()[["size", "noise", "kind"]].dropna()
    if suffix == "tsv":
        frame.to_csv(path, sep="\t", index=False)
    elif suffix == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path, index=False)
    elif suffix == "npz":
        np.savez(path, X=frame[["size", "noise"]].to_numpy(), y=frame["kind"].to_numpy().astype(str))
    else:
        head = "@relation t\n@attribute size real\n@attribute noise real\n@attribute kind {low,high}\n@data\n"
        path.write_text(head + frame.to_csv(index=False, header=False))
    target = [] if suffix in ("arff", "dat", "npz") else ["-t", "kind"]
    done = weighbors("fit", path, "-o", "m.wb", *target)
    assert done.code == 0, done.err
    assert f"{len(frame)} rows, 2 features" in done.out


def test_new_tables_that_do_not_fit(weighbors, mixed):
    weighbors("fit", mixed, "-t", "kind", "-o", "m.wb")
    mixed_table().drop(columns="size").to_csv("less.csv", index=False)
    done = weighbors("predict", "m.wb", "less.csv")
    assert (done.code, done.out) == (3, "")
    assert "lacks 1 of the 3 columns the model was fitted to: 'size'" in done.err
    mixed_table().assign(colour="violet", more=1)[["more", "colour", "noise", "size"]].to_csv("other.csv", index=False)
    done = weighbors("predict", "m.wb", "other.csv")
    assert done.code == 0
    assert "'violet' was not there in fit (60 rows)" in done.err
    assert "1 column the model does not use: 'more'" in done.err
    mixed_table().assign(size="big").to_csv("text.csv", index=False)
    done = weighbors("predict", "m.wb", "text.csv", "-o", "out.csv")
    assert done.code == 3
    assert "column 'size' was numbers in fit and holds text now ('big', ...)" in done.err


def test_fewer_rows_than_neighbours(weighbors):
    mixed_table(12).head(4).assign(kind=["low", "low", "high", "high"]).to_csv("four.csv", index=False)
    done = weighbors("fit", "four.csv", "-t", "kind", "-o", "m.wb", "--model", "knn")
    assert done.code == 3
    assert "--neighbors is 5, but the table has only 4 rows" in done.err
    assert weighbors("fit", "four.csv", "-t", "kind", "-o", "m.wb", "-k", 1).code == 0


def test_number_labels_stay_numbers(weighbors):
    frame = mixed_table()
    frame["kind"] = (frame["kind"] == "high").astype(int) + 1
    frame.to_csv("n.csv", index=False)
    weighbors("fit", "n.csv", "-t", "kind", "-o", "m.wb")
    done = weighbors("predict", "m.wb", "n.csv")
    assert {line.split(",")[1] for line in done.out.splitlines()[1:]} == {"1", "2"}
    assert "of 60 predictions agree" in done.err
    frame["kind"] = frame["kind"].astype(float)
    frame.loc[0, "kind"] = np.nan  # numbers with a gap are read as floats
    frame.to_csv("gap.csv", index=False)
    agree = int(weighbors("predict", "m.wb", "gap.csv").err.partition("has labels: ")[2].split()[0])
    assert agree > 50


def test_labels_and_targets_that_a_terminal_would_obey(weighbors):
    frame = mixed_table()
    frame["kind"] = frame["kind"] + "\x1b[31m"
    frame.rename(columns={"kind": "\x1b]0;title\x07"}).to_csv("t.csv", index=False)
    done = weighbors("fit", "t.csv", "-t", "\x1b]0;title\x07", "-o", "m.wb", "--weigher", "class-relief")
    assert done.code == 0
    again = weighbors("predict", "m.wb", "t.csv", "-o", "l.csv")
    assert again.code == 0
    assert "\x1b" not in done.out + done.err + again.out + again.err
    assert pd.read_csv("l.csv")["prediction"].isin(frame["kind"]).all()  # the data themselves are untouched


def test_a_table_of_categories_only(weighbors):
    frame = mixed_table()[["colour", "kind"]].assign(shape=["round", "square", "long"] * 20)
    frame.to_csv("c.csv", index=False)
    assert weighbors("fit", "c.csv", "-t", "kind", "-o", "m.wb").code == 0
    done = weighbors("predict", "m.wb", "c.csv")
    assert done.code == 0
    assert len(done.out.splitlines()) == 61


def test_models_that_python_saved_are_read_too(weighbors, mixed):
    """Row names, probabilities, and a message if rows are training rows."""
    frame = mixed_table().drop(columns="kind")
    TableClassifier(WeightedKNeighborsClassifier(3)).fit(frame, mixed_table()["kind"]).save("python.wb")
    done = weighbors("predict", "python.wb", mixed)
    lines = done.out.splitlines()
    assert lines[0] == "row,prediction,probability of high,probability of low"
    assert lines[1].startswith("100,")  # the identifier of the first row
    assert "60 of 60 rows are training rows" in done.err
    mixed_table(40, seed=1).assign(colour="mauve").to_csv("new.csv", index=False)
    done = weighbors("predict", "python.wb", "new.csv", "-o", "labels.csv")
    assert "training rows" not in done.err
    assert "'mauve' was not there in fit (40 rows)" in done.err
    assert pd.read_csv("labels.csv")["row"].tolist() == list(range(100, 140))
    told = json.loads(weighbors("predict", "python.wb", "new.csv", "--json").out)
    assert told["prediction"] == pd.read_csv("labels.csv")["prediction"].tolist()
    y = np.arange(60.0)
    TableRegressor(WeightedKNeighborsRegressor(3)).fit(frame, y).save("numbers.wb")
    assert weighbors("predict", "numbers.wb", "new.csv").out.splitlines()[0] == "row,prediction"


def test_errors_of_predicted_numbers_by_hand():
    truth = pd.Series(["1", "3", "none", None])
    found = _score_numbers(truth, np.array([2.0, 5.0, 9.0, 9.0]))
    assert found == {"r2": 1 - 5 / 2, "rmse": np.sqrt(2.5), "mae": 1.5, "rows": 2}
    assert _score_numbers(truth[:1], np.array([2.0]))["r2"] is None
    assert _score_numbers(truth[2:], np.zeros(2)) is None


def test_equal_weights_are_not_listed(weighbors, mixed, monkeypatch):
    """Learned votes often choose no weights: a list of ones would say nothing."""
    for weights, said in (([1.0, 1.0], "all features have the same weight"), ([1.0, 0.5], "heaviest features")):
        frame = pd.DataFrame({"weight": weights}, index=["size", "noise"])
        monkeypatch.setattr("weighbors.cli.fit._feature_weights", lambda model, frame=frame: frame)
        assert said in weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--folds", 0, "-k", 3, "--force").out
