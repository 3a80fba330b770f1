"""``weighbors select``: all features in the table, the list on stdout, groups by name."""

import json

import numpy as np
import pandas as pd
import pytest

from weighbors import ScoreWeigher, StabilitySelection

FEW = ("--pairs", 6, "--permutations", 4, "--weigher", "t")


@pytest.fixture
def genes(tmp_path):
    """A table with two relevant genes of 30, a constant one, and patients with two samples each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    kind = np.repeat(np.where(rng.permutation(30) % 2, "ill", "well"), 2)
    X[:, [4, 9]] += 2.0 * (kind == "ill")[:, None]
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(30)]).assign(
        flat=1.0, patient=np.arange(60) // 2, kind=kind
    )
    path = tmp_path / "genes.csv"
    frame.to_csv(path, index=False)
    return path


def test_all_features_are_written(weighbors, genes):
    done = weighbors("select", genes, "-t", "kind", "-o", "list.csv", "--target-fdr", 0.2, "--drop", "patient", *FEW)
    assert done.code == 0
    found = pd.read_csv("list.csv")
    assert len(found) == 30
    assert set(found["feature"][:2]) == {"g4", "g9"}
    assert {"selected", "q_value", "expected_false_positives", "score", "share", "weight"} <= set(found.columns)
    assert "2 of 30 features at a false discovery rate of 0.2" in done.out
    assert "flat" in done.err  # the constant column, with the reason


def test_it_is_what_the_library_finds(weighbors, genes):
    told = ("--groups", "patient", "--target-fp", 2, "--json", "--seed", 3, *FEW)
    shown = json.loads(weighbors("select", genes, "-t", "kind", "-o", "list.csv", *told).out)
    frame = pd.read_csv(genes)
    X = frame.drop(columns=["flat", "patient", "kind"])
    model = StabilitySelection(ScoreWeigher(), 6, target_fp=2, n_permutations=4, random_state=3)
    model.fit(X, frame["kind"].to_numpy(), groups=frame["patient"].astype(str).to_numpy())
    assert shown["selected"] == model.frame().query("selected").index.tolist()
    assert shown["q_values"] == pytest.approx(model.frame()["q_value"].to_dict())
    assert shown["features"] == 30


def test_an_empty_list_says_so(weighbors, genes):
    frame = pd.read_csv(genes).assign(kind=np.arange(60) % 2)
    frame.to_csv("noise.csv", index=False)
    done = weighbors(
        "select", "noise.csv", "-t", "kind", "-o", "l.csv", "--target-fdr", 0.01, "--drop", "patient", *FEW
    )
    assert done.code == 0
    assert "0 of 30 features at a false discovery rate of 0.01" in done.out
    assert "the smallest q-value is" in done.out


def test_a_number_to_predict(weighbors, genes):
    frame = pd.read_csv(genes).drop(columns="kind")
    frame.assign(y=frame["g4"] - frame["g9"]).to_csv("n.csv", index=False)
    shown = json.loads(weighbors("select", "n.csv", "-t", "y", "-o", "l.csv", "--json", "--drop", "patient", *FEW).out)
    assert shown["target_type"] == "numeric"
    assert pd.read_csv("l.csv")["feature"][:2].isin(["g4", "g9"]).all()
    assert weighbors("select", "n.csv", "-t", "y", "-o", "m.csv", "--weigher", "irelief").code == 2


@pytest.mark.parametrize(
    ("told", "code", "message"),
    [
        (("--target-fdr", 2), 2, "--target-fdr must be a share between 0 and 1"),
        (("--target-fp", -1), 2, "--target-fp must be a number above 0"),
        (("--groups", "patients"), 2, "patient"),
        (("--groups", "kind"), 2, "kind"),
        (("--weigher", "magic"), 2, "magic"),
        (("--groups", "flat"), 3, "at least 4 groups"),
    ],
)
def test_bad_arguments(weighbors, genes, told, code, message):
    done = weighbors("select", genes, "-t", "kind", "-o", "list.csv", *told)
    assert done.code == code
    assert message in done.err


def test_the_checkpoint_of_a_search_is_neither_the_table_nor_the_output(weighbors, genes, tmp_path):
    few = ("--evaluations", 20, "--population", 10)
    content = genes.read_bytes()
    (tmp_path / "link.csv").symlink_to(genes)
    for checkpoint in (genes, "genes.csv", tmp_path / "link.csv", "list.csv"):  # the last one does not exist yet
        for more in ((), ("--force",), ("--force", "--resume")):
            done = weighbors("reduce", genes, "-t", "kind", "-o", "list.csv", "--checkpoint", checkpoint, *few, *more)
            assert done.code == 2
            assert "is the table or the output; name another file as --checkpoint" in done.err
    assert genes.read_bytes() == content


@pytest.mark.parametrize(
    "option",
    [("--target-fp", "nan"), ("--target-fp", "inf"), ("--target-fdr", "nan"), ("--seed", 2**32), ("--jobs", 100_000)],
)
def test_numbers_that_make_no_sense_are_wrong_usage(weighbors, genes, option):
    done = weighbors("select", genes, "-t", "kind", "-o", "list.csv", *FEW, *option)
    assert done.code == 2
    assert option[0] in done.err


def test_forests_read_no_categories(weighbors, genes):
    pd.read_csv(genes).assign(colour=np.arange(60) % 3).astype({"colour": str}).replace(
        {"colour": {"0": "red", "1": "green", "2": "blue"}}
    ).to_csv("colours.csv", index=False)
    few = ("--pairs", 2, "--permutations", 1, "--weigher", "forest", "--drop", "patient")
    done = weighbors("select", "colours.csv", "-t", "kind", "-o", "l.csv", *few)
    assert done.code == 3
    assert "--weigher forest reads numbers only, and column 'colour' has categories" in done.err
