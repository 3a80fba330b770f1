"""The code in the README runs and prints what the README shows."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_prints_what_stands_below_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf8")
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.S).groups()
    exec(code, {})
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        line.rstrip() for line in shown.splitlines()
    ]


def test_files_that_the_readme_names_are_there():
    text = (ROOT / "README.md").read_text(encoding="utf8")
    named = re.findall(r"\]\(((?!http|#)[^)#]+)", text)
    assert len(named) > 15
    assert [name for name in named if not (ROOT / name).exists()] == []
