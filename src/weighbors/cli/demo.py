"""``weighbors demo``: write a report on built-in data, in seconds."""

from __future__ import annotations

import textwrap
from pathlib import Path

import typer

from ._options import JOBS, WritingOptions
from ._say import progress_bar, say
from .report import check_report, publish

NAME = "demo"


def run(
    common: WritingOptions,
    output: Path = typer.Option(
        Path("report.html"), "--output", "-o", metavar="FILE", help="Report to write: .html, .md or .json."
    ),
    jobs: int | None = JOBS,
) -> None:
    """Write a report on built-in data, in seconds.

    The data are 569 patients with a malignant or a benign breast tumour. They are part of scikit-learn. A last
    paragraph shows what learned votes gain on a second table.
    """
    check_report(output, common.force)
    from ..datasets import load_builtin
    from ..report import build_report

    data = load_builtin("breast-cancer")
    with progress_bar() as bar:
        made = build_report(
            data.X, data.y, target="diagnosis", title="Breast cancer in Wisconsin", n_jobs=jobs, progress=bar
        )
    publish(made, output, common.json)
    if not common.json:
        say(textwrap.fill(describe_votes_gain(jobs), 88))


def describe_votes_gain(n_jobs: int | None = None) -> str:
    """Return what learned votes gain over a 5-NN on the diabetes table of scikit-learn, with a paired test.

    The table was chosen among those of scikit-learn because there is a gain, and the text says so. On the table of the
    report chance can explain the gain.
    """
    from scipy.stats import t as student
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import RepeatedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    from .._parallel.blas import one_blas_thread
    from ..models import LearnedVotesRegressor, WeightedKNeighborsRegressor
    from ..stats import corrected_resampled_ttest

    X, y = load_diabetes(return_X_y=True)
    models = [
        WeightedKNeighborsRegressor(5, n_jobs=n_jobs),
        LearnedVotesRegressor(None, None, random_state=0, n_jobs=n_jobs),
    ]
    folds = RepeatedKFold(n_splits=5, n_repeats=3, random_state=0)
    with one_blas_thread():  # the systems of equations are small
        plain, votes = (cross_val_score(make_pipeline(MinMaxScaler(), one), X, y, cv=folds) for one in models)
    test = corrected_resampled_ttest(votes, plain, n_folds=5)
    width = float(student.ppf(0.975, test.df)) * test.standard_error
    low, high = test.mean_difference - width, test.mean_difference + width
    return (
        f"Learned votes on a second table, the course of diabetes in {len(y)} patients as a number (part of "
        f"scikit-learn): on rows left out, 5 nearest neighbours have R² {plain.mean():.2f} and learned votes "
        f"{votes.mean():.2f}, a change of {test.mean_difference:+.2f} (95 % interval {low:+.2f} to {high:+.2f}, "
        f"p = {test.p_value:.2g}). The table was chosen to show a gain; the README has the figures of 60 tables."
    )
