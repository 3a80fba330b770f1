"""Data sets of the papers, read from a directory of the user's.

The directory is named by the environment variable ``WEIGHBORS_DATA`` and described by a
``MANIFEST.csv`` with the columns name, group and file. Nothing is downloaded.
"""

from .loaders import Dataset, data_directory, list_datasets, load_dataset

__all__ = ["Dataset", "data_directory", "list_datasets", "load_dataset"]
