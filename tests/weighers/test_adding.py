"""The worked example of docs/adding_a_weigher.md, as one file and two lines of registration."""

import re
import sys
from pathlib import Path

import lazy_loader
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import f_classif

import weighbors
from weighbors import WeightedKNeighborsClassifier, weighers

PAGE = Path(__file__).parents[2] / "docs" / "adding_a_weigher.md"


def block(word):
    """The block of the page that holds this word."""
    blocks = re.findall(r"```\w+\n(.*?)```", PAGE.read_text(encoding="utf8"), re.S)
    return next(text for text in blocks if word in text)


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """The example as a module of the package, with its lines in the two lists of names."""
    (tmp_path / "fisher.py").write_text(block("def fisher_scores"))
    monkeypatch.setattr(weighers, "__path__", [*weighers.__path__, str(tmp_path)])
    lines = block("as FisherScore").splitlines()
    for package, line in zip((weighers, weighbors), [line for line in lines if line.startswith("from")], strict=True):
        place = tmp_path / package.__name__
        place.mkdir()
        stub = Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf8")
        (place / "__init__.pyi").write_text(f"{stub}\n{line}\n", encoding="utf8")
        find = lazy_loader.attach_stub(package.__name__, str(place / "__init__.py"))[0]
        monkeypatch.setattr(package, "__getattr__", find)
    yield
    sys.modules.pop("weighbors.weighers.fisher", None)
    for package in (weighers, weighbors):
        vars(package).pop("FisherScore", None)
    vars(weighers).pop("fisher", None)


def test_one_file_and_two_lines_make_a_weigher(registered, capsys):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X[:120], y[:120]
    FisherScore = weighbors.FisherScore
    assert FisherScore is weighers.FisherScore
    names = {"X": X, "y": y, "FisherScore": FisherScore, "WeightedKNeighborsClassifier": WeightedKNeighborsClassifier}
    exec(block("best ="), names)
    assert capsys.readouterr().out == block("worst perimeter")
    # Fisher's score is the F statistic of an analysis of variance, up to a factor that all features share.
    scores = FisherScore().fit(X, y).feature_weights_
    np.testing.assert_allclose(scores * (len(X) - 2), f_classif(X, y)[0])


def test_every_public_weigher_is_in_both_lists():
    assert set(weighers.__all__) - {"InstanceSampler"} <= set(weighbors.__all__)


def test_a_weigher_without_its_function_says_so():
    from weighbors.weighers.base import FeatureWeigher

    with pytest.raises(NotImplementedError, match="FeatureWeigher has no fit_weights"):
        FeatureWeigher().fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
