"""Numeric targets on the command line: what is recognised and said, models, predictions, reductions and reports."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import MinMaxScaler

from weighbors import RReliefF, TableRegressor, WeightedKNeighborsRegressor
from weighbors.cli._estimators import Weigher


def number_table(n=60, seed=0):
    """A table of numbers, a category, a gap and an identifier; the price follows size and colour."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(size=n), rng.choice(["red", "blue"], n)
    price = 10 * size + 15 * (colour == "red") + rng.normal(size=n)
    size[3] = np.nan
    return pd.DataFrame(
        {"id": np.arange(n), "size": size, "noise": rng.normal(size=n), "colour": colour, "price": price}
    )


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "prices.csv"
    number_table().to_csv(path, index=False)
    return path


def test_from_fit_to_numbers(weighbors, prices):
    done = weighbors("fit", prices, "-t", "price", "-o", "model.wb", "-k", 3)
    assert done.code == 0, done.err
    assert "'price' is taken as a number to predict (60 values" in done.err
    assert "--target-type" not in done.err  # with fractions, they would be refused as classes
    assert "60 rows, 3 features, targets" in done.out
    assert done.out.splitlines()[2].split()[0] in ("'size'", "'colour'")
    number_table(40, seed=1).to_csv("new.csv", index=False)
    done = weighbors("predict", "model.wb", "new.csv", "-o", "found.csv")
    found, truth = pd.read_csv("found.csv"), number_table(40, seed=1)["price"].to_numpy()
    assert list(found.columns) == ["row", "prediction"]
    error = truth - found["prediction"].to_numpy()
    r2 = 1 - (error**2).sum() / ((truth - truth.mean()) ** 2).sum()
    assert r2 > 0.3
    assert f"R² {r2:.4f}, RMSE {np.sqrt((error**2).mean()):.6g}, MAE {np.abs(error).mean():.6g} over 40" in done.err
    assert "40 rows; predictions from" in done.out


def test_json(weighbors, prices):
    made = json.loads(weighbors("fit", prices, "-t", "price", "-o", "m.wb", "--model", "knn", "--json").out)
    assert made["target_type"] == "numeric"
    assert made["range"] == [number_table()["price"].min(), number_table()["price"].max()]
    assert made["settings"]["weigher"] == "relieff"
    found = json.loads(weighbors("predict", "m.wb", prices, "--json").out)
    assert found["target_type"] == "numeric"
    assert len(found["prediction"]) == found["rows"] == 60
    assert set(found["scores"]) == {"r2", "rmse", "mae", "rows"}
    number_table().drop(columns="price").to_csv("no_target.csv", index=False)
    assert "scores" not in json.loads(weighbors("predict", "m.wb", "no_target.csv", "--json").out)


def test_without_weights_it_is_a_scaled_knn(weighbors, prices):
    frame = number_table()[["noise", "price"]].assign(other=np.arange(60) % 7)
    frame.to_csv("plain.csv", index=False)
    weighbors("fit", "plain.csv", "-t", "price", "-o", "m.wb", "--weigher", "none", "-k", 4)
    columns = ["noise", "other"]
    peer = KNeighborsRegressor(4).fit(MinMaxScaler().fit_transform(frame[columns]), frame["price"])
    expected = peer.predict(MinMaxScaler().fit_transform(frame[columns]))
    np.testing.assert_allclose(TableRegressor.load("m.wb").predict(frame), expected)


def test_every_weigher_works_or_says_what_to_take(weighbors, prices):
    only_classes = ("relief", "relievedf", "irelief", "class-relief", "simba", "mbiw", "simbambiw")
    for weigher in (one.value for one in Weigher if one.value not in only_classes):
        short = ["--evaluations", 60] if weigher == "evolution" else []
        options = ["-o", f"{weigher}.wb", "--weigher", weigher, "--folds", 0, *short]
        done = weighbors("fit", prices, "-t", "price", *options)
        assert done.code == 0, done.err
    for weigher in only_classes:
        done = weighbors("fit", prices, "-t", "price", "-o", "m.wb", "--weigher", weigher)
        assert done.code == 3
        assert f"'{weigher}' needs classes, and the target is numeric: use relieff" in done.err


def test_learned_votes(weighbors, prices):
    done = weighbors("fit", prices, "-t", "price", "-o", "votes.wb", "--model", "votes", "--folds", 0)
    assert done.code == 0, done.err
    assert "R² " in weighbors("predict", "votes.wb", prices).err


def test_the_cross_validated_score(weighbors, prices):
    made = weighbors("fit", prices, "-t", "price", "-o", "m.wb", "--model", "knn", "--json").out
    score = json.loads(made)["cross_validation"]
    frame = number_table()
    model = TableRegressor(WeightedKNeighborsRegressor(5, RReliefF()), "range", missing="distance")
    X, y = frame.drop(columns="price"), frame["price"]
    guess = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
    assert score["metric"] == "r2"
    assert score["score"] == pytest.approx(r2_score(y, guess))
    # Rows drawn in another way: the limits agree up to the noise of the draws.
    rng, drawn = np.random.default_rng(5), []
    for _ in range(2000):
        rows = rng.choice(60, 60)
        drawn.append(r2_score(y.to_numpy()[rows], guess[rows]))
    assert [score["low"], score["high"]] == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.05)
    assert score["low"] < score["score"] < score["high"]


def test_whole_numbers_could_be_either(weighbors, tmp_path):
    frame = number_table(80).drop(columns="price").assign(rings=np.arange(80) % 16)
    frame.to_csv("t.csv", index=False)
    done = weighbors("fit", "t.csv", "-t", "rings", "-o", "a.wb")
    assert "'rings' is taken as classes (16 different whole numbers, 0 to 15)" in done.err
    assert "--target-type numeric" in done.err
    done = weighbors("fit", "t.csv", "-t", "rings", "-o", "b.wb", "--target-type", "numeric")
    assert "targets 0 to 15" in done.out
    assert "is taken as" not in done.err
    # most of them differ, so that they are no classes
    frame.assign(rings=np.arange(80) * 3).to_csv("u.csv", index=False)
    done = weighbors("fit", "u.csv", "-t", "rings", "-o", "c.wb")
    assert "is taken as a number to predict (80 values, 0 to 237)" in done.err
    assert "--target-type classes" in done.err
    few = number_table(20).drop(columns="price").assign(kind=np.arange(20) % 2)
    few.to_csv("v.csv", index=False)
    assert "is taken as" not in weighbors("fit", "v.csv", "-t", "kind", "-o", "d.wb").err


@pytest.mark.parametrize("command", ["fit", "reduce", "report"])
@pytest.mark.parametrize(
    ("targets", "options", "message"),
    [
        (["inf", *map(str, np.arange(39) / 2)], [], "'y' cannot be predicted: Input y contains infinity"),
        (["0.5"] * 40, [], "'y' cannot be predicted: y is constant"),
        (
            [*map(str, np.arange(30) / 2), *["much"] * 10],
            ["--target-type", "numeric"],
            "10 of 40 rows hold text ('much'",
        ),
        (["a", "b"] * 20, ["--target-type", "numeric"], "40 of 40 rows hold text ('a'"),
        (list(map(str, np.arange(40) / 2)), ["--target-type", "classes"], "holds measurements"),
        (["0.5"], [], "at least 2 rows"),
    ],
)
def test_targets_that_cannot_be_used(weighbors, tmp_path, command, targets, options, message):
    lines = ["a,b,y", *(f"{i},{(i * 7) % 5},{target}" for i, target in enumerate(targets))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    output = {"fit": "m.wb", "reduce": "r.csv", "report": "r.md"}[command]
    done = weighbors(command, "t.csv", "-t", "y", "-o", output, *options)
    assert (done.code, done.out) == (3, "")
    assert message in done.err
    assert not Path(output).exists()


def test_text_that_looks_numeric(weighbors, tmp_path):
    words = "".join(f"{i},'{i / 2}'\n" for i in range(40))
    (tmp_path / "t.arff").write_text(f"@relation t\n@attribute a real\n@attribute y string\n@data\n{words}")
    done = weighbors("fit", "t.arff", "-t", "y", "-o", "m.wb")
    assert done.code == 3
    assert "text that looks like numbers" in done.err
    done = weighbors("fit", "t.arff", "-t", "y", "-o", "m.wb", "--target-type", "numeric", "--keep", "a")
    assert done.code == 0, done.err


def test_rows_without_a_number_are_left_out(weighbors):
    frame = number_table()
    frame.loc[5, "price"] = np.nan
    frame.to_csv("gap.csv", index=False)
    done = weighbors("fit", "gap.csv", "-t", "price", "-o", "m.wb")
    assert "1 row has no number in 'price' and was left out (row 5)" in done.err
    assert "59 rows" in done.out
    done = weighbors("predict", "m.wb", "gap.csv")
    assert "over 59 rows" in done.err
    assert len(done.out.splitlines()) == 61


def test_reduce(weighbors, prices):
    done = weighbors("reduce", prices, "-t", "price", "-o", "r.csv", "--evaluations", 60, "--population", 10, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["target_type"] == "numeric"
    assert 2 <= len(pd.read_csv("r.csv")) < 60
    assert "price" in pd.read_csv("r.csv").columns
    done = weighbors("reduce", prices, "-t", "price", "-o", "s.csv", "--fitness", "g_mean")
    assert done.code == 2
    assert "--fitness takes one of r2" in done.err
    assert "for a numeric target; got 'g_mean'" in done.err


def test_report(weighbors, prices):
    done = weighbors("report", prices, "-t", "price", "-o", "r.json")
    assert done.code == 0, done.err
    data = json.loads(Path("r.json").read_text(encoding="utf8"))
    assert data["target_type"] == "numeric"
    assert {row["name"] for row in data["features"]["rows"][:2]} == {"size", "colour"}
    assert "R²" in done.out


def test_a_table_of_the_shared_data(weighbors, papers_data):
    path = papers_data / "R_regression" / "r-servo.csv"
    assert weighbors("fit", path, "-t", "target", "-o", "m.wb").code == 0
    done = weighbors("predict", "m.wb", path, "-o", "p.csv")
    assert float(done.err.partition("R² ")[2].split(",")[0]) > 0.5
    assert len(TableRegressor.load("m.wb").left_out_) == 0
