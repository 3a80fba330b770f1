"""Tables: read from files, made ready for weighers, or loaded by name.

`read_table` reads a file, `split_target` takes the classes off, `clean_table` leaves out what cannot
help. The data sets of the papers are in a directory of the user's, named by the environment variable
``WEIGHBORS_DATA`` and described by a ``MANIFEST.csv`` with the columns name, group and file. Nothing is
downloaded.
"""

from .builtin import builtin_names, load_builtin
from .catalogue import describe_dataset, known_datasets
from .cleaning import CleanTable, LeftOut, clean_table
from .loaders import Dataset, data_directory, list_datasets, load_dataset
from .readers import Table, read_table, split_target
from .scaling import TableScaler

__all__ = [
    "CleanTable",
    "Dataset",
    "LeftOut",
    "Table",
    "TableScaler",
    "builtin_names",
    "clean_table",
    "data_directory",
    "describe_dataset",
    "known_datasets",
    "list_datasets",
    "load_builtin",
    "load_dataset",
    "read_table",
    "split_target",
]
