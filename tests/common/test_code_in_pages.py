"""The Python that the pages show runs, in order, on a small table."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

DOCS = Path(__file__).parents[2] / "docs"


def small_table():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X[:120], y[:120]
    return {
        "X": X,
        "y": y,
        "X_new": X[:5],
        "X_more": X[:20],
        "y_more": y[:20],
        "a": np.linspace(0.1, 1, X.shape[1]),
        "np": np,
    }


def groups():
    patient = np.repeat(np.arange(40), 3)
    return {"patient": patient}


def integers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    values = (10 * X).round().astype(int)
    return {"X": values, "y": y, "X_new": values[:5], "X_more": values[:20], "y_more": y[:20], "frame": X}


def keel_files():
    """Ten parts of iris as KEEL writes them."""
    X, y = load_iris(return_X_y=True)
    names = ["setosa", "versicolor", "virginica"]
    head = "@relation iris\n" + "".join(f"@attribute x{j} real [0.1, 7.9]\n" for j in range(4))
    head += f"@attribute Class {{{', '.join(names)}}}\n@inputs x0, x1, x2, x3\n@outputs Class\n@data\n"
    lines = [", ".join([*map(str, row), names[label]]) for row, label in zip(X, y, strict=True)]
    for number in range(10):
        Path(f"iris-10-{number + 1}tst.dat").write_text(head + "\n".join(lines[number::10]) + "\n")
    Path("iris-10-1tra.dat").write_text(head + "\n".join(lines) + "\n")
    from weighbors import IBk

    return {"methods": {"IBk": IBk()}}


#: What a page takes for granted beside a table. Others need a cluster, files or data sets of the reader.
PAGES = {
    "adding_a_weigher.md": [],
    "guide/distance.md": [],
    "guide/learned_votes.md": [],
    "guide/knn.md": [],
    "guide/explain.md": [],
    "guide/tables.md": [],
    "guide/relief.md": [],
    "guide/margins.md": [],
    "guide/intervals.md": [integers],
    "guide/evolution.md": [],
    "guide/instances.md": [],
    "guide/which.md": [],
    "guide/lists.md": [],
    "guide/stability.md": [],
    "guide/report.md": [groups],
    "migration/from_kneighbors.md": [],
    "migration/from_scikit_rebate.md": [],
    "migration/from_keel.md": [keel_files],
}


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf8"), re.S)


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.FewRunsWarning")
@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = small_table()
    for prepare in PAGES[page]:
        names |= prepare()
    names["my_fitness"] = lambda population: np.zeros(len(population))
    ran = 0
    for number, code in enumerate(blocks(page)):
        if "skrebate" in code or "dask" in code:
            continue  # the peer's half of a comparison, or a cluster of the reader
        exec(compile(code, f"{page}, block {number}", "exec"), names)
        ran += 1
    assert ran


@pytest.mark.parametrize(
    ("page", "silent"),
    [
        ("guide/learned_votes.md", 0),
        ("guide/explain.md", 0),
        ("guide/instances.md", 0),
        ("guide/lists.md", 0),
        ("guide/relief.md", 1),
        ("guide/stability.md", 1),
        *((f"tutorials/{path.name}", 0) for path in sorted((DOCS / "tutorials").glob("*.md")) if path.stem != "index"),
    ],
)
def test_pages_print_what_they_show(page, silent, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # tutorials write files
    if page.startswith("tutorials"):  # their readers have no directory of data sets, whose names would come first
        monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    text = (DOCS / page).read_text(encoding="utf8")
    shown = re.findall(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", text, re.S)
    assert len(shown) == len(blocks(page)) - silent
    names = {}
    for code, output in shown:
        exec(compile(code, page, "exec"), names)
        assert capsys.readouterr().out == output
