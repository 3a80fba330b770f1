"""Every example of the gallery runs to its end, prints and draws."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.fixture
def pyplot(monkeypatch, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    yield plt
    plt.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_example_runs(path, pyplot, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert pyplot.get_fignums()
