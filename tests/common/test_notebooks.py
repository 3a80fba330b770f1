"""What notebooks show: results, plans, weights and reports as well-formed HTML that takes the colours of the page."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from weighbors import ClassRelief, LearnedVotesClassifier, ReliefF, WeightedKNeighborsClassifier, Weights
from weighbors._display.html import bar, frame_table, page
from weighbors.evaluation import data_values, nogueira_stability, stability_curve
from weighbors.report import build_report
from weighbors.stats import compare, friedman, wilcoxon

HOSTILE = "<script>alert('x')</script> & co"


class Checker(HTMLParser):
    """Finds tags that are not closed in their order."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def text_of(html):
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    return " ".join(checker.text)


def table():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X.rename(columns={X.columns[0]: HOSTILE}), np.array([HOSTILE, "b", "c"])[y]


def weighed():
    X, y = table()
    return ReliefF().fit(X, y).weights_


def scores():
    return pd.DataFrame(np.random.default_rng(0).random((12, 3)), columns=["a", "b", HOSTILE])


SHOWN = {
    "weights": (weighed, "Weights of 4 features"),
    "weights per class": (lambda: Weights(feature_weights=np.eye(2), classes=[HOSTILE, "b"]), "Weights of 2 features"),
    "weights learned per class": (lambda: ClassRelief().fit(*table()).weights_, "Weights of 4 features"),
    "votes": (lambda: Weights(votes=[1.0, 2.0]), "votes: 1 to 2"),
    "plan": (lambda: WeightedKNeighborsClassifier(3).fit(*table()).plan_, "references"),
    "plan of votes": (lambda: LearnedVotesClassifier(weigher=None).fit(*table()).plan_, "all rows vote"),
    "explanation": (lambda: WeightedKNeighborsClassifier(3).fit(*table()).explain(table()[0][:1]), "What would change"),
    "stability curve": (lambda: stability_curve(ReliefF(), *table(), cv=3), "Stability of 4 features"),
    "values of rows": (lambda: data_values(*table()), "rows harm"),
    "stability": (lambda: nogueira_stability(np.eye(3) > 0), "Stability (Nogueira)"),
    "friedman": (lambda: friedman(scores()), "Friedman"),
    "wilcoxon": (lambda: wilcoxon(scores()["a"], scores()["b"]), "Wilcoxon"),
    "comparison": (lambda: compare(scores()), "What was done"),
    "report": (
        lambda: build_report(table()[0][::3], table()[1][::3], target=HOSTILE),
        "Features of the largest weight",
    ),
}


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.WeighborsWarning")
def test_every_result_shows_itself(name):
    make, expected = SHOWN[name]
    html = make()._repr_html_()
    assert expected in text_of(html)
    assert "<script" not in html
    assert len(html) < 20_000
    # Text has the colour of the page around it: only bars and lines have their own.
    assert set(re.findall(r"[^-]color:([^;}]+)", html)) <= {"inherit"}
    assert "http" not in html  # nothing is loaded
    text_of(page(html, HOSTILE))


def test_estimators_keep_the_diagram_of_scikit_learn():
    assert "sk-top-container" in WeightedKNeighborsClassifier(3)._repr_html_()


def test_bars():
    assert "left:50.0%;width:25.0%" in bar(1.0, 2.0)
    assert "left:25.0%;width:25.0%" in bar(-1.0, 2.0)
    assert "left:0.0%;width:50.0%" in bar(1.0, 2.0, two_sided=False)
    assert "width:0.0%" in bar(0.0, 0.0)


def test_long_tables_say_what_is_left_out():
    frame = pd.DataFrame(np.zeros((30, 20)), columns=[f"c{j}" for j in range(20)])
    text = text_of(frame_table(frame))
    assert "20 more lines and 8 more columns" in text
    assert "more" not in text_of(frame_table(frame.iloc[:3, :3]))
