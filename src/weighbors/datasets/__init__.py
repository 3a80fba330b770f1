"""Read tables from files, and load data sets by name.

`read_table` reads a file, and `split_target` separates the class column from the features. The data sets of the papers
are in a directory of the user. The environment variable ``WEIGHBORS_DATA`` names this directory, and its
``MANIFEST.csv`` has the columns name, group and file. Nothing is downloaded, except by `fetch_datasets`, which brings
public tables into such a directory.
"""

from .fetching import Fetched, fetch_datasets, fetchable_datasets
from .loaders import (
    Dataset,
    builtin_names,
    data_directory,
    describe_dataset,
    known_datasets,
    list_datasets,
    load_builtin,
    load_dataset,
)
from .readers import read_table
from .targets import split_target

__all__ = [
    "Dataset",
    "Fetched",
    "builtin_names",
    "data_directory",
    "describe_dataset",
    "fetch_datasets",
    "fetchable_datasets",
    "known_datasets",
    "list_datasets",
    "load_builtin",
    "load_dataset",
    "read_table",
    "split_target",
]
