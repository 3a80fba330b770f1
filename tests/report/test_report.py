"""The plain dict of a report, the sentences made from it, and its formats."""

import copy
import json
import re
import sys
import unicodedata
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from support.report_tables import HOSTILE, hostile_table

from weighbors.exceptions import InvalidDataError, MissingDependencyError
from weighbors.report import Report, build_report
from weighbors.report._caveats import caveats
from weighbors.report._phrases import join_names, percent, points
from weighbors.report._words import summary

SECTIONS = ["list", "table", "features", "classes", "stability", "instances", "gain", "difficulty", "intervals", "made"]


def small(n=40, seed=0, **options):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = pd.DataFrame({"good": y + rng.normal(0, 0.3, n), "noise": rng.normal(size=n), "whole": rng.integers(0, 4, n)})
    return build_report(X, y, **options)


@pytest.fixture(scope="module")
def report():
    return small()


def without_time(report):
    data = copy.deepcopy(report.data)
    data["made"].pop("seconds")
    return data


# the plain dict


def test_everything_is_there_and_plain(wine):
    assert set(wine.data) == {"schema", "title", "target", "target_type", "notes", "summary", "caveats", *SECTIONS}

    def check(value, path):
        if isinstance(value, dict):
            assert all(type(key) is str for key in value), path
            for key, part in value.items():
                check(part, f"{path}.{key}")
        elif isinstance(value, list):
            for place, part in enumerate(value):
                check(part, f"{path}[{place}]")
        else:
            assert value is None or type(value) in (str, int, float, bool), (path, type(value))

    check(wine.data, "data")


def test_json_comes_back(wine):
    assert Report.from_json(wine.to_json()).data == wine.data
    assert json.loads(wine.to_json(indent=1)) == wine.data


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 99, "made": {}}', "<html>"])
def test_what_is_no_report_is_refused(text):
    with pytest.raises(InvalidDataError, match="this is no report"):
        Report.from_json(text)


def test_control_and_direction_characters_are_escaped():
    # A direction character can make a name look like another one; a control character can end a line of a terminal.
    rng = np.random.default_rng(0)
    odd = "size\u202ega\u2066\x1b[31m\x85\u200f"
    table = pd.DataFrame({odd: np.r_[rng.normal(size=20), 3 + rng.normal(size=20)], "b": rng.normal(size=40)})
    told = build_report(table, np.repeat(["u\u202e", "v"], 20), random_state=0)
    texts = {"json": told.to_json(), "html": told.to_html()}
    for name, text in texts.items():
        left = {hex(ord(c)) for c in text if unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t\u00ad"}
        assert not left, name
        assert "size\\u202ega\\u2066" in text
    back = Report.from_json(texts["json"])
    assert back.data == told.data  # nothing is lost


def test_the_right_feature_comes_first(report):
    rows = report.data["features"]["rows"]
    assert rows[0]["name"] == "good"
    assert rows[0]["above_chance"] is True
    assert rows[0]["low"] <= rows[0]["weight"] <= rows[0]["high"]
    assert [row["weight"] for row in rows] == sorted((row["weight"] for row in rows), reverse=True)
    assert report.data["features"]["n_runs"] == 25
    assert report.data["classes"]["best"][0][0] == "good"


def test_the_same_seed_gives_the_same_report(report):
    assert without_time(small(n_jobs=2)) == without_time(report)
    assert without_time(small(random_state=1))["features"] != report.data["features"]


def test_page_and_markdown_are_the_same_bytes_each_time(report):
    again = Report.from_json(report.to_json())
    assert again.to_html() == report.to_html()
    assert again.to_markdown() == report.to_markdown()


def test_rows_are_called_by_their_labels():
    X = np.random.default_rng(0).normal(size=(30, 2))
    named = build_report(pd.DataFrame(X, index=[f"patient {i}" for i in range(30)]), np.arange(30) % 2)
    assert all(row["label"].startswith("patient ") for row in named.data["instances"]["lowest"])
    given = build_report(X, np.arange(30) % 2, row_labels=np.arange(30) + 2)
    for row in given.data["instances"]["lowest"]:
        assert row["label"] == str(row["row"] + 2)


def test_a_frame_is_cleaned_as_by_the_command():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=30), "patient": [f"P{i:02}" for i in range(30)], "same": 1.0})
    frame["when"] = pd.date_range("2020-01-01", periods=30)
    frame["more"] = np.where(np.arange(30) == 3, np.inf, rng.normal(size=30))
    told = build_report(frame, np.arange(30) % 2)
    assert {row["name"] for row in told.data["features"]["rows"]} == {"size", "more"}
    assert all(row["label"].startswith("P") for row in told.data["instances"]["lowest"])
    for name in ("patient", "same", "when", "more"):
        assert any(name in note for note in told.data["notes"])
        assert any(name in line for line in told.data["caveats"])
    kept = build_report(frame, np.arange(30) % 2, keep=["patient"], drop=["size"])
    assert {row["name"] for row in kept.data["features"]["rows"]} == {"patient", "more"}
    with pytest.raises(InvalidDataError, match="keep and drop name columns"):
        build_report(rng.normal(size=(30, 2)), np.arange(30) % 2, drop=["x0"])


def test_groups_stay_together():
    """Ten copies of three rows per class: apart from their copies, rows of noise cannot be told."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(12, 3)), 10, axis=0), np.repeat(np.arange(12) % 2, 10)
    alone = build_report(X, y)
    together = build_report(X, y, groups=np.repeat(np.arange(12), 10))
    scores = [r.data["gain"]["rows"][1]["accuracy"] for r in (alone, together)]
    assert scores[0] == 1.0
    assert scores[1] < 0.8
    assert not any("independent" in line for line in together.data["caveats"])
    assert any("independent" in line for line in alone.data["caveats"])


def test_progress_counts_to_the_end():
    seen = []
    small(progress=lambda done, total, what: seen.append((done, total, what)))
    assert [done for done, _, _ in seen] == list(range(seen[0][1] + 1))
    assert {what for _, _, what in seen} == {
        "cross-validation", "shuffled labels", "permutation test", "the list", "all rows", "done",
    }  # fmt: skip


@pytest.mark.parametrize("n_neighbors", [0, 1.5, True, "5"])
def test_neighbours_are_whole_numbers(n_neighbors):
    with pytest.raises(InvalidDataError, match="n_neighbors must be a whole number of at least 1"):
        small(n_neighbors=n_neighbors)


# tables at the edge of what can be said


def test_one_feature():
    told = build_report(np.arange(20.0)[:, None], np.arange(20) // 10)
    assert "reason" in told.data["stability"]
    wanted = "The only feature is x0. A permutation test finds it to weigh more than chance"
    assert any(wanted in line for line in told.data["summary"])
    assert "Not measured" in told.to_html()
    assert "Not measured" in told.to_markdown()


def test_four_rows():
    told = build_report([[0.0], [0.1], [5.0], [5.1]], ["a", "a", "b", "b"])
    assert told.data["gain"]["n_folds"] == 2
    assert told.data["made"]["settings"]["n_neighbors"] == 2
    assert "<html" in told.to_html()


def test_constant_columns_and_a_class_of_one():
    X = np.column_stack([np.arange(21.0), np.zeros(21)])
    told = build_report(X, ["a"] * 10 + ["b"] * 10 + ["lonely"])
    assert told.data["features"]["rows"][1]["weight"] == 0
    assert [row["rows"] for row in told.data["table"]["classes"]] == [10, 10, 1]
    assert "lonely" in told.to_html()


def test_nothing_but_constants():
    told = build_report(np.zeros((12, 2)), np.arange(12) % 2)
    assert told.data["difficulty"]["agreement"] is None
    assert "cannot be said" in " ".join(told.data["summary"])
    assert "none of them is shown to matter" in " ".join(told.data["summary"])
    assert "constant" in told.to_html()


def test_all_categories_with_holes():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    frame = pd.DataFrame(
        {f"c{j}": np.array(["red", "green", None], dtype=object)[rng.integers(0, 3, 60)] for j in range(4)}
    )
    frame["tells"] = pd.Categorical(np.array(["x", "y", "z"])[y])
    told = build_report(frame, y)
    assert told.data["table"]["n_categorical"] == 5
    assert told.data["features"]["rows"][0]["name"] == "tells"
    kept = [row for row in told.data["intervals"]["rows"] if row["feature"] == "tells" and row["kept"]]
    assert {(row["class"], row["low"], row["weight"]) for row in kept} == {("0", "x", 1), ("1", "y", 1), ("2", "z", 1)}
    assert "intervals" in told.to_html()


ODD = {
    "bool": lambda n: np.arange(n) % 3 == 0,
    "nullable integers": lambda n: pd.array([None if i % 5 == 0 else i % 3 for i in range(n)], dtype="Int64"),
    "text": lambda n: pd.array([None if i % 5 == 0 else f"u{i % 3}" for i in range(n)], dtype="string"),
    "nothing but holes": lambda n: np.full(n, np.nan),
    "categories that never come": lambda n: pd.Categorical([None] * n, categories=["x"]),
    "ordered categories": lambda n: pd.Categorical(
        ["lo", "hi"] * (n // 2), categories=["lo", "mid", "hi"], ordered=True
    ),
    "tuples": lambda n: pd.Categorical([(1, 2), (3, 4)] * (n // 2)),
    "words and numbers": lambda n: pd.Series([1, "a", 2.5, True] * (n // 4), dtype=object),
    "a name per row": lambda n: [f"row {i}" for i in range(n)],
    "huge": lambda n: np.linspace(-1e300, 1e300, n),
    "tiny": lambda n: np.linspace(0, 1e-300, n),
}


USELESS = ("nothing but holes", "categories that never come", "tuples", "a name per row")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ODD)
def test_odd_columns(kind):
    n = 20
    frame = pd.DataFrame({"plain": np.arange(n) + 0.5})
    frame["odd"] = ODD[kind](n)
    told = build_report(frame, np.arange(n) // 10)
    # A column that cannot help is left out, and the report says so.
    left_out = [note for note in told.data["notes"] if "odd" in note]
    assert told.data["features"]["n_features"] == 2 - (kind in USELESS)
    assert left_out or kind not in USELESS
    assert Report.from_json(told.to_json()).to_markdown() == told.to_markdown()


@pytest.mark.parametrize(
    "columns", [[0, 1], [("a", 1), ("b", 2)], ["", ""], pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])]
)
def test_odd_names_of_columns(columns):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=columns)
    names = {row["name"] for row in build_report(X, np.arange(20) % 2).data["features"]["rows"]}
    assert len(names) == 2


@pytest.mark.parametrize(
    "y",
    [
        np.arange(20) % 2 == 0,
        pd.Series(pd.Categorical(["p", "q"] * 10)),
        pd.Series(["p", "q"] * 10, dtype="string"),
        ["<b>\n" if i % 2 else "x" * 5000 for i in range(20)],
    ],
    ids=["bool", "categories", "strings", "hostile"],
)
def test_odd_labels(y):
    told = build_report(np.random.default_rng(0).normal(size=(20, 2)), y)
    assert len(told.data["table"]["classes"]) == 2
    assert max(map(len, told.summary().splitlines())) < 100


def test_sparse_rows():
    from scipy import sparse

    dense = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)
    y = np.arange(30) % 2
    assert without_time(build_report(sparse.csr_matrix(dense), y)) == without_time(build_report(dense, y))


@pytest.mark.slow
def test_large_tables_are_sampled_and_it_is_said():
    rng = np.random.default_rng(0)
    y = np.arange(3300) % 2
    told = build_report(y[:, None] + rng.normal(size=(3300, 2)), y)
    assert told.data["table"]["n_rows"] == 3300
    assert told.data["table"]["n_rows_used"] == 3000
    assert "3000 of the 3300 rows were drawn at random" in told.data["caveats"][0]
    assert all(row["row"] < 3300 for row in told.data["instances"]["lowest"])


# words


def test_small_words():
    assert percent(0.005) == "0.5 %"
    assert percent(0.5, 0) == "50 %"
    assert points(-0.0123) == "−1.2"
    assert join_names([]) == "none"
    assert join_names(["<b>", "x\ny", "c", "d"]) == "<b>, x y and c"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.01, 0.09, "which is more than chance explains"),
        (-0.09, -0.01, "so the weights do harm here"),
        (-0.01, 0.11, "which chance can explain"),
    ],
)
def test_the_verdict_follows_the_test(report, low, high, words):
    data = copy.deepcopy(report.data)
    data["gain"]["tests"][0].update(low=low, high=high)
    assert words in summary(data)[1]


def test_no_feature_above_chance_is_said(report):
    data = copy.deepcopy(report.data)
    data["features"]["test"]["n_above_chance"] = 0
    assert "none of them is shown to matter" in " ".join(summary(data))


def test_what_the_permutation_test_found_is_said(report):
    data = copy.deepcopy(report.data)
    data["features"] |= {"n_features": 40, "test": data["features"]["test"] | {"n_above_chance": 7, "n_familywise": 3}}
    told = " ".join(summary(data))
    assert "finds 7 of 40 to weigh more than chance gives at a false discovery rate of 5 %, and 3 with" in told
    assert "even a column of noise can pass it" not in " ".join(caveats(data))
    data["features"]["test"]["n_above_chance"] = 21
    assert "even a column of noise can pass it" in " ".join(caveats(data))


def test_a_report_without_the_test_says_nothing_of_chance(report):
    data = copy.deepcopy(report.data)
    data["features"]["test"] = None
    for row in data["features"]["rows"]:
        row |= dict.fromkeys(("p", "p_adjusted", "p_familywise", "above_chance"))
    told = Report.from_json(json.dumps(data | {"summary": summary(data)}))
    assert "ermutation test" not in " ".join(told.data["summary"])
    assert "above chance" not in told.to_html()
    assert "| – |" in told.to_markdown()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_rows": 50}, "50 rows are few"),
        ({"n_features": 500}, "more features than rows"),
        ({"n_missing": 9, "share_missing": 0.0123, "n_columns_with_missing": 2}, "1.23 % of the cells, in 2 columns"),
        ({"n_missing": 9, "share_missing": 0.0123, "n_columns_with_missing": 1}, "in 1 column, are missing"),
        ({"n_copies": 30}, "30 rows are exact copies"),
        ({"n_contradicting": 4}, "4 rows have a twin"),
        ({"classes": [{"label": "a", "rows": 90, "share": 0.9}, {"label": "b", "rows": 9, "share": 0.1}]}, "uneven"),
        (
            {"classes": [{"label": "a", "rows": 20, "share": 0.7}, {"label": "b", "rows": 9, "share": 0.3}]},
            "1 class has",
        ),
    ],
)
def test_caveats_come_with_their_reason(report, changes, words):
    data = copy.deepcopy(report.data)
    data["table"] |= {"n_rows": 400, "n_rows_used": 400, "n_copies": 0, "n_contradicting": 0, "n_missing": 0}
    data["table"]["classes"] = [{"label": "a", "rows": 200, "share": 0.5}, {"label": "b", "rows": 200, "share": 0.5}]
    assert words not in " ".join(caveats(data))
    data["table"] |= changes
    assert words in " ".join(caveats(data))


def test_ties_and_a_missing_test_are_said(report):
    data = copy.deepcopy(report.data)
    data["stability"]["tied"] = 0.4
    data["made"]["settings"]["n_permutations"] = 0
    assert "In 40 % of the runs" in " ".join(caveats(data))
    assert "no feature was tested against chance" in " ".join(caveats(data))


def test_notes_are_among_the_caveats():
    assert "left out: id" in small(notes=["left out: id"]).data["caveats"]


def test_the_terminal_gets_short_lines(wine, hostile):
    for told in (wine, hostile):
        text = told.summary()
        assert repr(told) == text
        assert max(map(len, text.splitlines())) <= 90
        assert "\x00" not in text


# the page


class Page(HTMLParser):
    """Elements, ids, links and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.scripts, self.inside = [], [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes[key] for key in ("href", "src", "xlink:href") if key in attributes]
        self.inside = tag

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts.append(data)
            self.inside = None


@pytest.fixture(scope="module")
def pages(wine, hostile):
    return {"wine": wine.to_html(), "hostile": hostile.to_html()}


@pytest.mark.parametrize("name", ["wine", "hostile"])
def test_the_page_links_to_itself_only(pages, name):
    page = Page(pages[name])
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not re.search(r"url\((?!#)", pages[name].split('id="numbers"')[0].split("</style>")[1])
    for found in re.findall(r"url\(#([^)]+)\)", pages[name]):
        assert found in page.ids
    assert {"svg", "table", "main", "nav"} <= {tag for tag, _ in page.tags}


def test_hostile_names_stay_names(pages, hostile):
    page = Page(pages["hostile"])
    kinds = [tag for tag, _ in page.tags]
    assert kinds.count("script") == 2  # the numbers and the sorting
    assert not {"img", "u", "em", "i", "b", "iframe"} & set(kinds)
    assert not [key for _, attributes in page.tags for key in attributes if key.startswith("on")]
    assert "\x00" not in pages["hostile"]
    assert not [link for link in page.links if "javascript" in link]
    names = {row["name"] for row in hostile.data["features"]["rows"]}
    assert set(HOSTILE) - {"same"} <= names
    assert {"same", "same (2)"} <= names


@pytest.mark.parametrize("name", ["wine", "hostile"])
def test_the_numbers_are_in_the_page(request, pages, name):
    page = Page(pages[name])
    assert json.loads(page.scripts[0]) == request.getfixturevalue(name).data


def test_the_policy_knows_the_script_of_the_page(pages):
    import base64
    import hashlib

    page = Page(pages["wine"])
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


@pytest.mark.slow
def test_fifty_features_stay_below_600_kb():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 1500)
    X = pd.DataFrame(
        rng.normal(size=(1500, 50)) + y[:, None] * rng.normal(size=50),
        columns=[f"a longer name of the feature {j}" for j in range(50)],
    )
    X = X.round(dict.fromkeys(X.columns[:20], 0))
    page = build_report(X, y).to_html()
    assert len(page.encode()) < 600_000


def test_the_rows_named_can_be_reached(pages, wine):
    page = Page(pages["wine"])
    for row in wine.data["instances"]["lowest"]:
        assert f"#row-{row['row']}" in page.links


def test_markdown_shows_names_as_they_are(hostile):
    text = hostile.to_markdown()
    assert "<script>" not in text
    assert "[link](" not in text
    width = next(line for line in text.splitlines() if line.startswith("| rank")).count("|")
    start = text.splitlines().index("## Which features matter") + 2
    for line in text.splitlines()[start : start + 2 + len(HOSTILE)]:
        assert len(re.findall(r"(?<!\\)\|", line)) == width


def test_saving_by_the_ending(report, tmp_path):
    for ending, begin in ((".html", "<!DOCTYPE html>"), (".md", "# "), (".json", "{")):
        path = tmp_path / f"report{ending}"
        report.save(path)
        assert path.read_text(encoding="utf8").lstrip().startswith(begin)
    with pytest.raises(InvalidDataError, match=r"saved as \.html, \.md or \.json"):
        report.save(tmp_path / "report.pdf")
    with pytest.raises(FileNotFoundError):
        report.save(tmp_path / "nowhere" / "report.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.json", "report.md"]


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_the_extra_packages_there_is_a_word_and_the_rest_works(report, monkeypatch, package):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=r"matplotlib and jinja2: pip install 'weighbors\[report\]'"):
        report.to_html()
    assert report.to_markdown()
    assert report.summary()


def test_the_hostile_table_is_as_evil_as_it_says():
    table, y = hostile_table()
    assert list(table.columns) == HOSTILE
    assert len(set(y)) == 2
    assert table.isna().any().any()


def test_an_interval_of_weight_1_may_hold_rows_of_other_classes():
    """A weight of 1 speaks of typical runs, not of single rows: the page must not say more."""
    X = pd.DataFrame({"kind": pd.Categorical(["a"] * 30 + ["b"] * 29 + ["a"])})
    y = np.array([0] * 30 + [1] * 30)
    from weighbors import RepresentativeIntervals

    found = RepresentativeIntervals().fit(X, y).intervals_
    typical = found[(found["class"] == 0) & found["kept"]]
    assert typical["weight"].tolist() == [1.0]  # though one row of class 1 is an 'a', too
    page = build_report(X.assign(noise=np.arange(60.0) % 7), y).to_html()
    assert "no other class has these values" not in page
    assert "The weight does not count rows" in page
    assert "0 30, 1 1" in page
