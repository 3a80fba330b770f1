"""Find the smallest change of one or two features that changes the answer, in the units of the user.

The model is asked about rows in which one feature, or two, have other values: numbers between the smallest and the
largest one of the training rows, and categories that were seen there. The number of questions is bounded, so a smaller
change can be missed between the values that were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import AnyArray, BoolArray

if TYPE_CHECKING:
    import pandas as pd

N_VALUES = 33  # values of a number that are tried alone, at most
N_PAIR_VALUES = 9  # values of a feature that are tried in pairs, at most
N_SINGLE, N_PAIRED = 40, 8  # features that are changed alone, and in pairs
_REFINED = 6  # pairs of values that are refined
_STEPS = 4  # steps of refinement, each of which makes the uncertainty nine times smaller
_FRACTIONS = tuple(i / 9 for i in range(1, 9))
_DIGITS = (2, 3, 4)  # digits of a told number, counted from the first one of the standard deviation
_GAIN = 0.98  # A change of two features must be that much smaller than one of a single feature to be worth telling.

Answers = Callable[["pd.DataFrame"], AnyArray]


@dataclass(frozen=True)
class Change:
    """New values of one or two features under which the model gives another answer."""

    features: tuple[str, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    size: float  # sum over features: standard deviations of a number; 1 for a category or a missing value
    answer: Any  # the answer under the new values
    n_categories: int = 0  # changed features that are categories, or were missing


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """What is known of a column in the training rows. Columns are compared by identity: they are keys of dicts."""

    name: str
    number: bool
    candidates: AnyArray  # sorted numbers from the smallest to the largest, or categories, the frequent first
    deviation: float  # standard deviation of numbers
    whole: bool  # whether all numbers are whole

    def size(self, before: Any, after: Any) -> float:
        """Return the size of a change: in standard deviations, or 1 for categories and missing values."""
        if _same(before, after):
            return 0.0
        if not self.number or _missing(before):
            return 1.0
        return abs(float(after) - float(before)) / self.deviation

    def few(self, most: int) -> AnyArray:
        """Return at most ``most`` of the candidates, spread over all of them if they are numbers."""
        if len(self.candidates) <= most:
            return self.candidates
        if not self.number:
            return self.candidates[:most]
        return self.candidates[np.unique(np.linspace(0, len(self.candidates) - 1, most).round().astype(int))]


def describe_column(name: str, column: pd.Series, *, number: bool) -> ColumnValues | None:
    """Return the candidates of a column, or None if it has no two different values."""
    present = column[column.notna().to_numpy()]
    if not number:
        counts = present.astype(object).value_counts()
        values = np.empty(len(counts), dtype=object)
        values[:] = list(counts.index)
        return ColumnValues(name, False, values[:N_VALUES], 1.0, False) if len(values) > 1 else None
    numbers = np.sort(present.to_numpy(dtype=np.float64))
    if not len(numbers) or numbers[0] == numbers[-1]:
        return None
    whole = bool((numbers == np.rint(numbers)).all())
    different = np.unique(numbers)
    if len(different) > N_VALUES:
        # Quantiles, which are values that occur, and the two ends.
        different = np.unique(numbers[np.linspace(0, len(numbers) - 1, N_VALUES).round().astype(int)])
    # The largest number becomes 1, so that the squares of very large or small numbers do not overflow or vanish.
    largest = float(np.abs(numbers).max())
    return ColumnValues(name, True, different, float((numbers / largest).std() * largest), whole)


def find_changes(
    query: pd.DataFrame,
    columns: Sequence[ColumnValues],
    answers: Answers,
    changed: Callable[[AnyArray], BoolArray],
) -> list[Change]:
    """Return the smallest change of one feature, and of two if that is smaller; an empty list if none is found.

    Parameters
    ----------
    query : DataFrame of one row
    columns : sequence of ColumnValues
        The features that may change, the most important one first.
    answers : callable
        Takes a table with the columns of ``query`` and returns the answers of the model.
    changed : callable
        Takes answers and returns which of them are another answer.
    """
    asker = _Asker(query, answers, changed)
    singles = _single_changes(asker, columns[:N_SINGLE])
    pairs = _pair_changes(asker, columns[:N_PAIRED])
    found = sorted(singles, key=lambda change: change.size)[:1]
    two = sorted((change for change in pairs if len(change.features) == 2), key=lambda change: change.size)[:1]
    # A refined pair may have lost one of its two changes.
    one = [change for change in pairs if len(change.features) == 1]
    found = sorted(found + one, key=lambda change: change.size)[:1]
    if two and (not found or two[0].size < _GAIN * found[0].size):
        found += two
    return found


Values = dict[ColumnValues, Any]  # new values by column


class _Asker:
    """Asks the model about copies of one row in which some values are others."""

    def __init__(self, query: pd.DataFrame, answers: Answers, changed: Callable[[AnyArray], BoolArray]) -> None:
        self.query, self._answers, self._changed = query, answers, changed
        self._size = max(1, 4_000_000 // max(1, query.shape[1]))
        self._place = {name: j for j, name in enumerate(query.columns)}
        self._before: Values = {}

    def before(self, column: ColumnValues) -> Any:
        """Return the value of the row in a column."""
        if column not in self._before:
            self._before[column] = self.query.iloc[0, self._place[column.name]]
        return self._before[column]

    def size(self, values: Values) -> float:
        """Return the size of a change."""
        return sum(column.size(self.before(column), value) for column, value in values.items())

    def answers(self, candidates: Sequence[Values]) -> AnyArray:
        """Return the answers for candidates, of which there is at least one."""
        parts = [candidates[i : i + self._size] for i in range(0, len(candidates), self._size)]
        return np.concatenate([self._answers(self._table(part)) for part in parts])

    def ask(self, candidates: Sequence[Values]) -> BoolArray:
        """Return which of the candidates change the answer."""
        return self._changed(self.answers(candidates)) if candidates else np.zeros(0, dtype=bool)

    def _table(self, candidates: Sequence[Values]) -> pd.DataFrame:
        """Return one row per candidate."""
        table = self.query.iloc[np.zeros(len(candidates), dtype=int)].reset_index(drop=True)
        for column in dict.fromkeys(column for values in candidates for column in values):
            before = self.before(column)
            new = [values.get(column, before) for values in candidates]
            # Text and categories become objects: the coder of the model reads them all the same.
            cells = np.array(new, dtype=np.float64) if column.number else _objects(new)
            table.isetitem(self._place[column.name], cells)
        return table

    def changes(self, found: Sequence[Values]) -> list[Change]:
        """Return the changes as they are shown, with their answers. Those that change nothing are left out."""
        kept = [{c: value for c, value in values.items() if not _same(self.before(c), value)} for values in found]
        kept = [values for values in kept if values]
        if not kept:
            return []
        labels = self.answers(kept)
        return [
            Change(
                features=tuple(c.name for c in values),
                before=tuple(self.before(c) for c in values),
                after=tuple(values.values()),
                size=self.size(values),
                answer=label,
                n_categories=sum(not c.number or _missing(self.before(c)) for c in values),
            )
            for values, label, flip in zip(kept, labels, self._changed(labels), strict=True)
            if flip
        ]


def _single_changes(asker: _Asker, columns: Sequence[ColumnValues]) -> list[Change]:
    """Return the smallest change of each feature alone that changes the answer, refined."""
    candidates = [{column: value} for column in columns for value in column.candidates]
    flips = asker.ask(candidates)
    starts: list[tuple[Values, Values]] = []  # (a value that changes nothing, a value that changes the answer)
    position = 0
    for column in columns:
        flip = flips[position : position + len(column.candidates)]
        position += len(column.candidates)
        before = asker.before(column)
        if not column.number or _missing(before):
            starts += [({column: before}, {column: value}) for value in column.candidates[flip][:1]]
            continue
        for side in (column.candidates > before, column.candidates < before):
            # Nearest value that flips on this side, and the one before it on the way, which does not.
            distance = np.where(side & flip, np.abs(column.candidates - before), np.inf)
            nearest = int(distance.argmin())
            if np.isfinite(distance[nearest]):
                kept = side & (np.abs(column.candidates - before) < distance[nearest])
                last = (
                    column.candidates[kept][np.abs(column.candidates[kept] - before).argmax()] if kept.any() else before
                )
                starts.append(({column: last}, {column: column.candidates[nearest]}))
    return _tell(asker, _refine(asker, starts))


def _pair_changes(asker: _Asker, columns: Sequence[ColumnValues]) -> list[Change]:
    """Return refined changes of two features that change the answer."""
    candidates = [
        {a: u, b: v}
        for a, b in combinations(columns, 2)
        for u, v in product(a.few(N_PAIR_VALUES), b.few(N_PAIR_VALUES))
        if not (_same(asker.before(a), u) or _same(asker.before(b), v))
    ]
    flips = np.flatnonzero(asker.ask(candidates))
    sizes = np.array([asker.size(candidates[i]) for i in flips])
    best = [candidates[flips[i]] for i in np.argsort(sizes, kind="stable")[:_REFINED]]
    # First both values together, then each alone while the other one stays.
    refined = _refine(asker, [({c: asker.before(c) for c in values}, values) for values in best])
    for which in (0, 1):
        columns_of = [list(values)[which] for values in refined]
        starts = [({**values, c: asker.before(c)}, values) for values, c in zip(refined, columns_of, strict=True)]
        enough = asker.ask([low for low, _ in starts])  # The other value alone may change the answer already.
        closer = _refine(asker, starts)
        refined = [low if flip else new for (low, _), flip, new in zip(starts, enough, closer, strict=True)]
    return _tell(asker, refined)


def _refine(asker: _Asker, starts: Sequence[tuple[Values, Values]]) -> list[Values]:
    """Return values nearest to the first ones that still change the answer as the second ones do.

    Eight values between both ends are tried at once, so that the model is asked few times. All searches go on
    together.
    """
    ends = [(dict(low), dict(high)) for low, high in starts]
    for _ in range(_STEPS):
        inner = [[{c: _between(c, low[c], high[c], t) for c in high} for t in _FRACTIONS] for low, high in ends]
        flips = asker.ask([values for line in inner for values in line]).reshape(len(ends), len(_FRACTIONS))
        for i, (line, flip) in enumerate(zip(inner, flips, strict=True)):
            first = int(flip.argmax()) if flip.any() else len(line)
            low, high = ends[i]
            ends[i] = (low if first == 0 else line[first - 1], high if first == len(line) else line[first])
    return [high for _, high in ends]


def _between(column: ColumnValues, low: Any, high: Any, share: float) -> Any:
    """Return the value at a share of the way, or the second one if there is no number between."""
    if not column.number or _missing(low):
        return high
    value = float(low) + share * (float(high) - float(low))
    if not column.whole:
        return value
    # Whole numbers are rounded towards the value that changes the answer.
    return float(np.floor(value) if high < low else np.ceil(value))


def _tell(asker: _Asker, found: Sequence[Values]) -> list[Change]:
    """Return changes with values of as few digits as still change the answer and are hardly larger."""
    shorter = [
        [{c: _round_away(c, asker.before(c), v, digits) for c, v in values.items()} for digits in _DIGITS]
        for values in found
    ]
    flips = asker.ask([values for line in shorter for values in line]).reshape(len(found), len(_DIGITS))
    told = []
    for values, line, flip in zip(found, shorter, flips, strict=True):
        limit = 1.1 * asker.size(values) + 0.01
        short = [new for new, works in zip(line, flip, strict=True) if works and asker.size(new) <= limit]
        told.append(short[0] if short else values)
    return asker.changes(told)


def _round_away(column: ColumnValues, before: Any, value: Any, digits: int) -> Any:
    """Return a number with few digits (in units of the deviation), rounded away from the value of the row."""
    if not column.number or column.whole or _missing(before):
        return value
    # Python's round gives the shortest decimal: 0.1 · 3 would be shown with a tail of digits.
    decimals = int(digits - 1 - np.floor(np.log10(column.deviation)))
    unit = 10.0**-decimals
    if unit < np.finfo(np.float64).tiny:  # numbers that small have no digits to leave out
        return value
    steps = np.ceil(value / unit - 1e-9) if value > before else np.floor(value / unit + 1e-9)
    rounded = round(float(steps * unit), decimals) + 0.0  # never −0
    return float(np.clip(rounded, column.candidates[0], column.candidates[-1]))


def _missing(value: Any) -> bool:
    """Return whether a cell is missing."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _same(before: Any, after: Any) -> bool:
    """Return whether two cells are the same. A missing cell is the same as a missing cell."""
    if _missing(before) or _missing(after):
        return _missing(before) and _missing(after)
    return bool(before == after)


def _objects(values: list[Any]) -> AnyArray:
    """Return cells as an array of objects."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
