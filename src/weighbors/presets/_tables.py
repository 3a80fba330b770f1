"""The tables of a preset that are there: a preset runs on what it finds, and names what it does not find."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ..datasets import data_directory, fetchable_datasets, list_datasets
from ..datasets.loaders import has_data_directory
from ..evaluation import StudyData
from ..exceptions import InvalidDataError

#: The group and the name of a table in the directory of data sets.
Place: TypeAlias = tuple[str, str]


class FoundTables(NamedTuple):
    """Loaders of the tables that are there, places of absent ones, and whether built-in tables replace all of them."""

    loaders: Mapping[str, Callable[[], StudyData]]
    absent: Mapping[str, Place]
    built_in: bool


def find_tables(
    places: Mapping[str, Place],
    load: Callable[[str], StudyData],
    *,
    data_home: str | os.PathLike[str] | None,
    built_in: Mapping[str, Callable[[], StudyData]] | None,
) -> FoundTables:
    """Look for the tables of a preset in the directory of data sets.

    Parameters
    ----------
    places : mapping of name to group and name of the file
    load : function of a name
    data_home : path or None
        As in `data_directory`.
    built_in : mapping of name to loader, or None
        What is loaded if there is no directory, or none of the tables in it. None: this is an error.
    """
    if built_in is not None and not has_data_directory(data_home):
        return FoundTables(built_in, {}, True)
    home, listed = data_directory(data_home), list_datasets(data_home)
    files = {(row.group, row.name): row.file for row in listed[["group", "name", "file"]].itertuples(index=False)}
    there = [name for name, place in places.items() if place in files and (home / str(files[place])).is_file()]
    if there:
        absent = {name: place for name, place in places.items() if name not in there}
        return FoundTables({name: partial(load, name) for name in there}, absent, False)
    if built_in is not None:
        return FoundTables(built_in, {}, True)
    raise InvalidDataError(f"'{home}' has no table of this study. {_say_where(places)}")


def describe_absent(absent: Mapping[str, Place]) -> list[str]:
    """Return a message about tables that are not there, and where to get them. It is empty if there are none."""
    return [f"Not in the directory of data sets: {', '.join(absent)}. {_say_where(absent)}"] if absent else []


def _say_where(places: Mapping[str, Place]) -> str:
    """Return which tables can be fetched, and which have no public source that is known."""
    known: Any = fetchable_datasets()
    public = set(zip(known["group"], known["name"], strict=True))
    fetched = [name for name, place in places.items() if place in public]
    others = [name for name in places if name not in fetched]
    parts = [f"'weighbors datasets fetch' brings {', '.join(fetched)}"] if fetched else []
    parts += [f"ask the sources that docs/papers names for {', '.join(others)}"] if others else []
    return f"{'; '.join(parts)}."
