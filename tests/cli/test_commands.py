"""What all commands share, and those that only print: datasets, study, report, demo."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from weighbors.presets import PRESETS

ROOT = Path(__file__).parents[2]
COMMANDS = ["demo", "columns", "report", "select", "fit", "predict", "explain", "reduce", "study", "datasets"]


def test_help_lists_the_commands_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom weighbors.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "print([m for m in ('numpy', 'pandas', 'sklearn', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    listed = [line.split()[0] for line in done.stdout.partition("Commands:")[2].splitlines() if line.startswith("  ")]
    assert listed == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(weighbors, command):
    done = weighbors(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert "--json" in done.out
    first = done.out.splitlines()[2].strip()
    assert first in weighbors("--help").out  # whole, not cut off


def test_version_and_the_two_ways_to_start(weighbors):
    import weighbors as package

    done = weighbors("--version")
    assert (done.code, done.out) == (0, f"weighbors {package.__version__}\n")
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]["scripts"]
    assert scripts == {"weighbors": "weighbors.cli:main"}
    done = subprocess.run([sys.executable, "-m", "weighbors", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"weighbors {package.__version__}\n"


def test_no_arguments_show_the_help(weighbors):
    done = weighbors()
    assert done.code in (0, 2)  # releases of typer differ
    assert "Usage: weighbors" in done.out + done.err


def promised():
    """Commands in the README and the guide."""
    for page in ("README.md", "docs/guide/command_line.md"):
        text = (ROOT / page).read_text(encoding="utf8")
        for block in re.findall(r"```sh\n(.*?)```", text, re.S):
            yield from (line for line in block.splitlines() if line.startswith("weighbors "))


def test_what_the_pages_promise_is_there(weighbors):
    lines = list(promised())
    assert len(lines) > 10
    for line in lines:
        for part in line.split(" ; "):
            words = shlex.split(part, comments=True)[1:]
            shown = weighbors(words[0], "--help")
            assert shown.code == 0, line
            assert all(word in shown.out for word in words if word.startswith("-")), line


class Terminal:
    """Stderr that says it is a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


def test_colours_only_on_a_terminal_that_wants_them(monkeypatch):
    from weighbors.cli._say import error

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for variable, coloured in ((None, True), ("1", False)):
        if variable:
            monkeypatch.setenv("NO_COLOR", variable)
        monkeypatch.setattr(sys, "stderr", Terminal())
        error("oh")
        assert ("\x1b[" in sys.stderr.text) == coloured


def test_a_bar_only_on_a_terminal(monkeypatch):
    from weighbors.cli._say import progress_bar, set_quiet

    with progress_bar() as bar:
        assert bar is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar() as bar:
        bar(3, 6, "folds")
    shown = re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", sys.stderr.text)
    assert re.search(r"━+\S* ?━* 3/6 folds", shown)
    assert sys.stderr.text.endswith("\x1b[2K")  # the line is cleared
    set_quiet(True)
    with progress_bar() as bar:
        assert bar is None
    set_quiet(False)


def own_data(place):
    (place / "MANIFEST.csv").write_text("name,group,file,source\ntiny,mine,tiny.csv,here\ntiny_splits,mine,s.npz,\n")
    (place / "tiny.csv").write_text("a,b,class\n1,x,u\n,y,v\n3,x,u\n")
    return place


def test_data_sets_are_listed_and_described(weighbors, tmp_path, monkeypatch):
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    done = weighbors("datasets")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["name", "breast-cancer", "digits", "iris", "wine"]
    assert "--data or WEIGHBORS_DATA" in done.err
    done = weighbors("datasets", "--data", own_data(tmp_path))
    assert done.out.splitlines()[-1].split() == ["tiny", "mine"]
    done = weighbors("datasets", "tiny", "--data", tmp_path)
    assert done.out.splitlines() == [
        "tiny (mine)",
        "  rows      3",
        "  columns   2: 1 numbers, 1 categories",
        "  classes   2: u 2, v 1",
        "  missing   1 cells in 1 columns",
        "  source    here",
    ]
    description = json.loads(weighbors("datasets", "iris", "--json").out)
    assert description["rows"] == 150
    assert description["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert len(json.loads(weighbors("datasets", "--data", tmp_path, "--json").out)) == 5


def test_the_listed_sizes_are_true(weighbors):
    from weighbors.datasets import builtin_names, known_datasets, load_builtin

    known = known_datasets().set_index("name")
    for name in builtin_names():
        data = load_builtin(name)
        row = known[known["group"] == "built-in"].loc[name]
        assert (row["rows"], row["features"], row["classes"]) == (*data.X.shape, len(np.unique(data.y)))


def test_data_sets_that_are_not_there(weighbors, tmp_path):
    done = weighbors("datasets", "irs")
    assert done.code == 3
    assert "there is no data set 'irs'. Did you mean 'iris'?" in done.err
    done = weighbors("datasets", "--data", tmp_path)
    assert done.code == 3
    assert "holds no MANIFEST.csv" in done.err


def test_the_papers_data_sets(weighbors, papers_data):
    done = weighbors("datasets", "heart-h", "--data", papers_data)
    assert done.code == 0
    assert "rows      294" in done.out
    done = weighbors("datasets", "dexter", "--data", papers_data)  # sparse
    assert "columns   20000: 20000 numbers, 0 categories" in done.out


def test_the_presets_are_the_librarys(weighbors):
    listed = re.search(r"NAME \S+ <(.*?)>|NAME <(.*?)>", weighbors("study", "--help").out)
    assert sorted((listed[1] or listed[2]).split("|")) == sorted(PRESETS)


class Result:
    """What `run_preset` gives, as far as the command looks at it."""

    def __init__(self, output, failed):
        self.tables = {"table_1": pd.DataFrame({"method": ["a"], "ours": [0.5], "paper": [float("nan")]})}
        self.text, self.made, self.left_out = "All is well.", {"seed": 0}, ()
        self.failures = pd.DataFrame({"error": ["oh"] * failed})
        self.paths = {"made": output / "wibk" / "made.json"}

    def __str__(self):
        return self.text


@pytest.mark.parametrize(("failed", "code"), [(0, 0), (2, 4)])
def test_a_study_says_what_failed(weighbors, monkeypatch, tmp_path, failed, code):
    called = {}

    def run_preset(name, *, output, **options):
        called.update(options, name=name, output=output)
        return Result(output, failed)

    monkeypatch.setattr("weighbors.presets.run_preset", run_preset)
    done = weighbors("study", "wibk", "--quick", "--data", tmp_path, "-o", "runs", "--jobs", 2)
    assert (done.code, done.out) == (code, "All is well.\n")
    assert called["name"] == "wibk"
    assert called["quick"] is True
    assert (called["data_home"], called["n_jobs"], called["progress"]) == (tmp_path, 2, False)
    description = json.loads(weighbors("study", "wibk", "-o", "runs", "--data", tmp_path, "--json").out)
    assert description["failed"] == failed
    assert description["tables"]["table_1"] == [{"method": "a", "ours": 0.5, "paper": None}]


def test_a_study_that_is_interrupted_or_misplaced(weighbors, monkeypatch, tmp_path):
    def run_preset(name, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("weighbors.presets.run_preset", run_preset)
    done = weighbors("study", "wibk", "-o", "runs", "--data", tmp_path)
    assert done.code == 130
    assert "the same command continues" in done.err
    (tmp_path / "file").write_text("")
    assert weighbors("study", "wibk", "-o", "file").code == 2


def test_a_study_without_its_data(weighbors, tmp_path, monkeypatch):
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    done = weighbors("study", "class-relief", "-o", "runs")
    assert done.code == 2
    assert "name the directory of the data sets with --data" in done.err
    done = weighbors("study", "class-relief", "--quick", "--data", tmp_path, "-o", "runs")
    assert done.code == 3
    assert "holds no MANIFEST.csv" in done.err


def test_quick_studies_run_on_built_in_tables(weighbors, tmp_path, monkeypatch):
    from weighbors.presets import PRESETS, load_preset

    assert all(load_preset(name).offline for name in PRESETS)  # the command offers --quick without data for each
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    called = {}
    monkeypatch.setattr(
        "weighbors.presets.run_preset", lambda name, *, output, **options: called.update(options) or Result(output, 0)
    )
    done = weighbors("study", "class-relief", "--quick", "-o", "runs")
    assert done.code == 0
    assert called["data_home"] is None
    assert "tables of scikit-learn take the place of the paper's" in done.err


def test_a_report_in_every_format(weighbors, mixed, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    done = weighbors("report", mixed, "-t", "kind")
    assert done.code == 0
    assert "60 rows in 2 classes and 3 features" in done.out
    assert "'id' is left out: it counts the rows" in done.err
    page = (tmp_path / "report.html").read_text(encoding="utf8")
    assert "<html" in page
    description = json.loads(weighbors("report", mixed, "-t", "kind", "-o", "r.json", "--json", "--drop", "noise").out)
    assert description == json.loads((tmp_path / "r.json").read_text(encoding="utf8"))
    assert {row["name"] for row in description["features"]["rows"]} == {"size", "colour"}
    assert any("'noise' is left out: as asked" in note for note in description["notes"])


def test_rows_that_belong_together(weighbors, mixed):
    pd.read_csv(mixed).assign(patient=np.arange(60) // 4).to_csv("g.csv", index=False)
    done = weighbors("report", "g.csv", "-t", "kind", "-o", "g.json", "--groups", "patient", "--json")
    assert done.code == 0
    assert "patient" not in {row["name"] for row in json.loads(done.out)["features"]["rows"]}
    done = weighbors("report", "g.csv", "-t", "kind", "-o", "h.json", "--groups", "patients")
    assert done.code == 2
    assert "Did you mean 'patient'?" in done.err


def test_a_report_without_its_packages(weighbors, mixed, monkeypatch, tmp_path):
    monkeypatch.setattr("weighbors.cli.report.find_spec", lambda name: None)
    done = weighbors("report", mixed, "-t", "kind")
    assert done.code == 1
    assert "needs matplotlib and jinja2: pip install 'weighbors[report]', or name a .md file" in done.err
    assert weighbors("report", mixed, "-t", "kind", "-o", "r.md").code == 0


def test_the_demo(weighbors, tmp_path):
    done = weighbors("demo", "-o", "demo.md")
    assert done.code == 0
    assert "569 rows in 2 classes and 30 features" in done.out
    assert "Learned votes of all rows in place of k neighbours reach 97" in " ".join(done.out.split())
    assert " ".join(done.out.split()).endswith(
        "The table was chosen to show a gain; the README has the figures of 60 tables."
    )
    assert "the whole report is in 'demo.md'" in done.err
    assert (tmp_path / "demo.md").stat().st_size > 1000
    assert weighbors("demo", "-o", "demo.md").code == 2
