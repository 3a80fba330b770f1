"""Data sets that are loaded by name from a directory."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from weighbors.datasets import data_directory, list_datasets, load_dataset, loaders
from weighbors.exceptions import InvalidDataError, MissingDependencyError


def test_the_papers_data(papers_data):
    assert data_directory() == papers_data
    assert {"colon", "wdbc", "tae"} <= set(list_datasets()["name"])
    tae = load_dataset("tae", "B_wibk")
    assert tae.X.shape == (151, 5)
    assert len(np.unique(tae.y)) == 3
    assert load_dataset("colon").X.shape == (62, 2000)
    assert sparse.issparse(load_dataset("dexter").X)
    assert isinstance(load_dataset("letter").X, pd.DataFrame)
    with pytest.raises(InvalidDataError, match="no data set 'colom'. Did you mean 'colon'"):
        load_dataset("colom")
    with pytest.raises(InvalidDataError, match="no data set 'colon' in group D_uci; it is in [A-Z]_"):
        load_dataset("colon", "D_uci")


def test_without_a_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    with pytest.raises(InvalidDataError, match="set the environment variable WEIGHBORS_DATA"):
        data_directory()
    monkeypatch.setenv("WEIGHBORS_DATA", str(tmp_path))
    with pytest.raises(InvalidDataError, match=r"holds no MANIFEST\.csv"):
        load_dataset("colon")
    with pytest.raises(InvalidDataError, match=r"data_home is .* holds no MANIFEST\.csv"):
        list_datasets(tmp_path)


def test_a_directory_given_goes_before_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("WEIGHBORS_DATA", str(tmp_path / "elsewhere"))
    (tmp_path / "MANIFEST.csv").write_text("name,group,file\ntiny,own,tiny.csv\n")
    (tmp_path / "tiny.csv").write_text("a,class\n1,x\n2,y\n")
    assert list_datasets(tmp_path)["name"].tolist() == ["tiny"]
    assert load_dataset("tiny", data_home=tmp_path).y.tolist() == ["x", "y"]


def test_manifests_that_are_none(tmp_path):
    path = tmp_path / "MANIFEST.csv"
    for content, message in [("", "is no readable csv file"), ("name,file\na,b\n", "it lacks group")]:
        path.write_text(content)
        with pytest.raises(InvalidDataError, match=message):
            list_datasets(tmp_path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "MANIFEST.csv").write_text("name,group,file\ntiny,own,tiny.parquet\n")
    manifest = list_datasets(tmp_path).astype(object)  # pandas, too, may read text with pyarrow
    monkeypatch.setattr(loaders, "list_datasets", lambda home: manifest)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"'tiny.parquet' is one: pip install 'weighbors\[parquet\]'"):
        load_dataset("tiny", data_home=tmp_path)
