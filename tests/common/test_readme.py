"""What the README says happens."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_prints_the_figures_beside_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf8"), re.S).group(1)
    exec(code, {})
    printed = [float(line) for line in capsys.readouterr().out.splitlines() if re.fullmatch(r"0\.\d+", line)]
    promised = [float(figure) for figure in re.findall(r"score\(.*: (0\.\d+)", code)]
    assert len(promised) == 2
    assert [round(figure, 3) for figure in printed] == promised
    assert (tmp_path / "wine.npz").exists()


def test_the_test_command_is_the_one_ci_runs():
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf8")
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf8")


def test_every_public_name_has_a_place_in_the_documentation():
    import weighbors

    pages = (ROOT / "docs" / "api.rst").read_text(encoding="utf8")
    for name in weighbors.__all__:
        assert f"weighbors.{name}\n" in pages, name


def test_packages_are_documented_in_full():
    from weighbors import datasets, evaluation, plots, report, stats

    pages = (ROOT / "docs" / "api.rst").read_text(encoding="utf8")
    for package in (datasets, evaluation, stats, plots, report):
        for name in package.__all__:
            assert f"{package.__name__}.{name}\n" in pages, name
            assert getattr(package, name).__doc__, name
