"""The code in the README runs and prints what the README shows."""

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
