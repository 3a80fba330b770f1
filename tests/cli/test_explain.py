"""``weighbors explain``: the reasons for predictions, as text, HTML and JSON."""

import json
from pathlib import Path

import pandas as pd
import pytest
from support.tables import mixed_table

from weighbors import LearnedVotesClassifier, TableClassifier, TableRegressor, WeightedKNeighborsRegressor


@pytest.fixture
def model(weighbors):
    """A model file, a table of new rows in another file, and the fitted estimator."""
    frame = mixed_table().drop(columns="kind")
    fitted = TableClassifier(LearnedVotesClassifier(weigher=None)).fit(frame, mixed_table()["kind"])
    fitted.save("model.wb")
    named().to_csv("new.csv", index=False)
    return fitted


def named():
    """New rows whose identifiers are texts."""
    new = mixed_table(20, seed=1).drop(columns="kind")
    return new.assign(id=[f"N{i:02}" for i in range(len(new))])


def test_the_text_is_that_of_the_library_and_a_page_is_written(weighbors, model):
    done = weighbors("explain", "model.wb", "new.csv", "--row", "N03", "--row", 7, "-o", "page.html", "--top", 2)
    assert done.code == 0, done.err
    new = pd.read_csv("new.csv")
    assert done.out.rstrip("\n") == str(model.explain(new.iloc[[3, 7]], top=2))
    assert done.out.startswith("Row N03: ")
    assert "Row N07: " in done.out
    page = Path("page.html").read_text(encoding="utf8")
    assert page.lstrip().lower().startswith("<!doctype html")
    assert "N03" in page
    assert "N07" in page
    assert "training rows" not in done.err


def test_a_name_comes_before_a_number(weighbors, model):
    new = named().assign(id=range(5, 25))
    new.to_csv("numbered.csv", index=False)
    assert weighbors("explain", "model.wb", "numbered.csv", "--row", 6).out.startswith("Row 6: ")
    found = json.loads(weighbors("explain", "model.wb", "numbered.csv", "--row", 6, "--row", 0, "--json").out)
    assert [line["row"] for line in found["answers"]] == [1, 0]  # the row called 6, and row number 0
    assert [line["name"] for line in found["answers"]] == ["6", "5"]


def test_json_has_all_parts(weighbors, model):
    found = json.loads(weighbors("explain", "model.wb", "new.csv", "--row", "N03", "--json").out)
    told = model.explain(pd.read_csv("new.csv").iloc[[3]])
    assert found["answers"][0]["answer"] == model.predict(pd.read_csv("new.csv").iloc[[3]])[0]
    assert [line["feature"] for line in found["features"]] == told.frame("features")["feature"].tolist()
    added = sum(line["contribution to low"] for line in found["features"])
    assert added + told.base[0][1] == pytest.approx(found["answers"][0]["score of low"])
    assert [line["after"] for line in found["changes"]] == told.frame("changes")["after"].tolist()
    assert found["votes"]


def test_few_rows_need_no_names_and_many_do(weighbors, model):
    named()[:2].to_csv("two.csv", index=False)
    done = weighbors("explain", "model.wb", "two.csv")
    assert "Row N00: " in done.out
    assert "Row N01: " in done.out
    done = weighbors("explain", "model.wb", "new.csv")
    assert (done.code, done.out) == (2, "")
    assert "the table has 20 rows: name the rows to explain with --row, for example 'N00' or 'N01'" in done.err


def test_rows_that_are_not_there_or_not_one(weighbors, model):
    for wanted in ("N99", "20", "-1", "³", ""):
        done = weighbors("explain", "model.wb", "new.csv", f"--row={wanted}")
        assert (done.code, done.out) == (2, ""), wanted
        assert f"there is no row '{wanted}': the table has 20 rows" in done.err
        assert "or a number from 0 to 19" in done.err
    named().assign(id="same").to_csv("same.csv", index=False)
    done = weighbors("explain", "model.wb", "same.csv", "--row", "same")
    assert done.code == 2
    assert "20 rows are called 'same' (numbers 0, 1, 2, 3, 4, ...)" in done.err


def test_training_rows_and_new_categories_are_named(weighbors, model, mixed):
    done = weighbors("explain", "model.wb", mixed, "--row", 100)
    assert "1 of 1 rows are training rows, which vote on their own prediction" in done.err
    named().assign(colour="mauve").to_csv("new.csv", index=False)
    done = weighbors("explain", "model.wb", "new.csv", "--row", 0)
    assert "'mauve' was not there in fit (1 row)" in done.err
    assert "mauve" in done.out


def test_numbers(weighbors, mixed):
    frame = mixed_table().drop(columns=["kind", "noise"])
    TableRegressor(WeightedKNeighborsRegressor(3)).fit(frame, mixed_table()["noise"]).save("numbers.wb")
    assert "prediction" in weighbors("explain", "numbers.wb", mixed, "--row", 103).out


def test_bad_files(weighbors, model, mixed):
    done = weighbors("explain", mixed, mixed, "--row", 0)
    assert done.code == 3
    assert "no readable model file" in done.err
    assert weighbors("explain", "none.wb", mixed, "--row", 0).code == 2
    done = weighbors("explain", "model.wb", "new.csv", "--row", 0, "-o", "page.csv")
    assert done.code == 2
    assert "should end in .html" in done.err
    assert weighbors("explain", "model.wb", "new.csv", "--row", 0, "-o", "page.html").code == 0
    assert weighbors("explain", "model.wb", "new.csv", "--row", 0, "-o", "page.html").code == 2
    named().drop(columns="size").to_csv("less.csv", index=False)
    done = weighbors("explain", "model.wb", "less.csv", "--row", 0)
    assert (done.code, done.out) == (3, "")
    assert "lacks 1 of the 3 columns" in done.err


def test_the_target_in_the_table_is_no_feature(weighbors, mixed):
    weighbors("fit", mixed, "-t", "kind", "-o", "m.wb", "--folds", 0, "--weigher", "none")
    done = weighbors("explain", "m.wb", mixed, "--row", 103)
    assert done.code == 0, done.err
    assert "kind" not in done.err


@pytest.mark.parametrize("row", [(), ("--row", "0")])
def test_a_table_without_rows_is_bad_data(weighbors, model, row):
    named().head(0).to_csv("none.csv", index=False)
    done = weighbors("explain", "model.wb", "none.csv", *row)
    assert done.code == 3
    assert "the table has column names and no rows" in done.err


def test_a_row_number_of_thousands_of_digits(weighbors, model):
    done = weighbors("explain", "model.wb", "new.csv", "--row", "9" * 5000)
    assert done.code == 2
    assert "or a number from 0 to 19" in done.err


def test_a_model_without_row_names_says_row_numbers(weighbors):
    named().assign(kind=mixed_table(20, seed=1)["kind"]).to_csv("named.csv", index=False)
    for option, known in (("--row-names", True), ("--no-row-names", False)):
        weighbors("fit", "named.csv", "-t", "kind", "-o", "m.wb", option, "--folds", 0, "--weigher", "none", "--force")
        assert (TableClassifier.load("m.wb").row_names_ is not None) == known
        assert weighbors("explain", "m.wb", "named.csv", "--row", "N03").code == 0  # names of new tables are read
