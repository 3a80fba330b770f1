import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from weighbors.datasets import data_directory, list_datasets, load_dataset
from weighbors.exceptions import InvalidDataError


def test_the_papers_data(papers_data):
    assert data_directory() == papers_data
    assert {"colon", "wdbc", "tae"} <= set(list_datasets()["name"])
    tae = load_dataset("tae", "B_wibk")
    assert tae.X.shape == (151, 5)
    assert len(np.unique(tae.y)) == 3
    assert load_dataset("colon").X.shape == (62, 2000)
    assert sparse.issparse(load_dataset("dexter").X)
    assert isinstance(load_dataset("letter").X, pd.DataFrame)
    with pytest.raises(InvalidDataError, match="no data set 'colom'. Did you mean colon"):
        load_dataset("colom")
    with pytest.raises(InvalidDataError, match="in group D_uci"):
        load_dataset("colon", "D_uci")


def test_without_a_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("WEIGHBORS_DATA", raising=False)
    with pytest.raises(InvalidDataError, match="set the environment variable WEIGHBORS_DATA"):
        data_directory()
    monkeypatch.setenv("WEIGHBORS_DATA", str(tmp_path))
    with pytest.raises(InvalidDataError, match=r"holds no MANIFEST\.csv"):
        load_dataset("colon")


def test_a_directory_by_argument(papers_data, monkeypatch, tmp_path):
    monkeypatch.setenv("WEIGHBORS_DATA", str(tmp_path))
    assert load_dataset("tae", "B_wibk", data_home=papers_data).X.shape == (151, 5)
    assert "tae" in set(list_datasets(papers_data)["name"])
    with pytest.raises(InvalidDataError, match=r"the data directory is '.*', which holds no MANIFEST\.csv"):
        list_datasets(tmp_path)
