"""Compare the instance selectors with those of KEEL, on KEEL's tables and folds.

KEEL itself is not run. Its rules are written here as plain loops, after reading its Java sources, with its own order of
rows, ties, scaling and defaults. Both sides get the same rows, scaled as KEEL scales them, and the rows that each keeps
are judged by the same nearest neighbour. ``python benchmarks/keel_selectors.py -o docs/results/keel_selectors.csv``
prints the means and writes one line per selector and table; it needs the papers' data sets. The three largest tables
take three of the ten folds, since loops are slow. ``--whole --tables monk-2 wisconsin`` gives both sides whole numbers,
so that no sum of squares rounds and equal distances are equal on both sides.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from weighbors import DROP3, FCNN, HMNEI, IB2, IB3, ICF, WeightedKNeighborsClassifier
from weighbors._random import generators
from weighbors.datasets import data_directory, load_dataset
from weighbors.exceptions import LostClassWarning
from weighbors.weighers.instances.instance_based import select_ib2, select_ib3
from weighbors.weighers.instances.rows import LabelledRows
from weighbors.weighers.instances.selector import InstanceSelector

GROUP = "D_keel_partitions"
TABLES = (
    "iris", "wine", "glass", "new-thyroid", "cleveland", "haberman", "ecoli", "bupa", "monk-2", "wisconsin", "pima",
    "vehicle",
)  # fmt: skip
COUNTS = ["runs", "same_rows", "same_rows_alike"]
MEANS = ["overlap", "kept", "keel_kept", "accuracy", "keel_accuracy"]
LARGE, FEW_FOLDS = 600, 3  # of tables with more rows than this only the first folds are run
WHOLE = 18  # the scaled columns of monk-2 and wisconsin are halves, thirds and ninths
SEEDS = range(3)  # orders in which IB2 and IB3 visit the rows of a fold


# The parts that KEEL's selectors share.


def scale(train: np.ndarray, test: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale training and test rows as KEEL does, by the bounds that the head of its file declares.

    A missing value is 0 before the scaling in a training row, and 0 after it in a test row. A constant column is left.
    """
    width = np.where(high > low, high - low, 1.0)
    low = np.where(high > low, low, 0.0)
    rows = (np.nan_to_num(train, nan=0.0) - low) / width
    queries = np.nan_to_num((test - low) / width, nan=0.0)
    return rows, queries


def distances(rows: np.ndarray) -> np.ndarray:
    """Return all Euclidean distances. Squares are added column by column, since the order decides how sums round."""
    total = np.zeros((len(rows), len(rows)))
    for column in rows.T:
        total += (column[:, None] - column) ** 2
    return np.sqrt(total)


def vote(d: np.ndarray, codes: np.ndarray, stored: np.ndarray, k: int, *, copies: bool = False) -> int:
    """Return the class that KEEL's k-NN predicts.

    Rows at distance 0 have no vote, unless ``copies`` says so: this is how KEEL leaves a row out of its own neighbours,
    and it leaves out the copies of the row, too. Equal distances go to the lower row, equal votes to the lower class.
    Without any vote the class is the first one.

    Parameters
    ----------
    d : ndarray of shape (n,)
        Distances of the query to all rows.
    codes : ndarray of shape (n,)
    stored : ndarray
        The numbers of the rows that may vote, ascending.
    k : int
    copies : bool
    """
    voters = stored if copies else stored[d[stored] > 0]
    nearest = voters[np.argsort(d[voters], kind="stable")[:k]]
    return int(np.bincount(codes[nearest], minlength=1).argmax())


def edit(d: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """Return which rows have the class that the k nearest rows vote for."""
    every = np.arange(len(codes))
    return np.array([vote(d[row], codes, every, k) == codes[row] for row in every])


def nearest_enemy(d: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the distance of each row to the nearest row of another class."""
    return np.where(codes[:, None] != codes, d, np.inf).min(axis=1)


# The selectors. Each returns the numbers of the rows that it keeps, as a set.


def keel_fcnn(rows: np.ndarray, d: np.ndarray, codes: np.ndarray, *, by_number: bool = False) -> set[int]:
    """FCNN for one neighbour.

    Of kept rows at equal distance the one that was kept first is the nearest, with ``by_number`` the lower one.
    """
    new = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        center = rows[members].sum(axis=0) / len(members)
        new.append(int(members[np.sqrt(((rows[members] - center) ** 2).sum(axis=1)).argmin()]))
    kept: list[int] = []
    nearest: dict[int, int] = {}
    while new:
        kept += new
        chosen: dict[int, int] = {}  # kept row -> the nearest row that it would classify wrongly
        for row in range(len(codes)):
            if row in kept:
                continue
            for other in new:
                known = nearest.get(row)
                if (
                    known is None
                    or d[row, other] < d[row, known]
                    or (by_number and d[row, other] == d[row, known] and other < known)
                ):
                    nearest[row] = other
            center_row = nearest[row]
            if codes[center_row] != codes[row] and (
                center_row not in chosen or d[center_row, row] < d[center_row, chosen[center_row]]
            ):
                chosen[center_row] = row
        new = [chosen[row] for row in sorted(chosen)]
    return set(kept)


def keel_ib2(d: np.ndarray, codes: np.ndarray, order: np.ndarray, *, copies: bool = False) -> set[int]:
    """IB2: rows are visited in random order, and kept if the nearest kept row at a distance above 0 is wrong."""
    kept = {int(order[0])}
    for row in order[1:]:
        if vote(d[row], codes, np.array(sorted(kept)), 1, copies=copies) != codes[row]:
            kept.add(int(row))
    return kept


def keel_ib3(
    d: np.ndarray, codes: np.ndarray, order: np.ndarray, rng: np.random.Generator, accept: float, drop: float
) -> set[int]:
    """IB3 with KEEL's tests: two plain ratios in place of the confidence intervals.

    A stored row is acceptable if ``accept`` times its accuracy is above the frequency of its class. It is dropped if
    its accuracy is below ``drop`` times that frequency. The frequency is counted from the row's own visit on, a row
    that is stored counts as right about itself, and all rows that are stored at the end are kept.
    """
    stored: list[int] = []
    right, tried, same, seen = ({} for _ in range(4))
    for row in order.tolist():
        if not stored:
            stored = [row]
            right[row] = tried[row] = same[row] = seen[row] = 1
            continue
        acceptable = [y for y in stored if accept * right[y] / tried[y] > same[y] / seen[y]]
        chosen = min(acceptable, key=lambda y, x=row: d[x, y]) if acceptable else stored[rng.integers(len(stored))]
        if codes[chosen] != codes[row]:
            stored.append(row)
            right[row] = tried[row] = same[row] = seen[row] = 0
        for y in stored:
            seen[y] += 1
            same[y] += int(codes[y] == codes[row])
        poor = set()
        for y in stored:
            if y == row or d[row, y] <= d[row, chosen]:
                tried[y] += 1
                right[y] += int(codes[y] == codes[row])
                if right[y] / tried[y] < drop * same[y] / seen[y]:
                    poor.add(y)
        stored = [y for y in stored if y not in poor]
    return set(stored)


def keel_drop3(d: np.ndarray, codes: np.ndarray, k: int) -> set[int]:
    """DROP3 with KEEL's test: a row goes if most of its own k + 1 neighbours are classified correctly without it."""
    n = len(codes)
    kept = edit(d, codes, k)
    order = np.argsort(-nearest_enemy(d, codes), kind="stable")  # enemies that the editing removes count, too
    near: dict[int, list[int]] = {}
    for row in np.flatnonzero(kept).tolist():
        others = np.flatnonzero(d[row] > 0)  # rows that the editing removes can be neighbours, too
        near[row] = others[np.argsort(d[row, others], kind="stable")[: k + 1]].tolist()
    for row in order.tolist():
        if not kept[row]:
            continue
        kept[row] = False
        left = np.flatnonzero(kept)
        correct = sum(vote(d[y], codes, left, k) == codes[y] for y in near[row])
        if correct <= (k + 1) // 2:
            kept[row] = True
            continue
        for associate, neighbors in near.items():
            if row in neighbors:
                near[associate] = _refill(d[associate], np.arange(n)[kept], k + 1)
    return {int(row) for row in np.flatnonzero(kept)}


def _refill(d: np.ndarray, stored: np.ndarray, size: int) -> list[int]:
    """Return the new neighbours of a row as KEEL finds them. The row itself can be among them.

    A row that enters the list moves only the row whose place it takes, which then fills all later places. For two
    places this is the list of the nearest; for more, rows in between are lost.
    """
    places: list[int] = [-1] * size
    for row, distance in zip(stored.tolist(), d[stored].tolist(), strict=True):
        if places[-1] >= 0 and distance >= d[places[-1]]:
            continue  # the places ascend in distance, so this row enters none of them
        for at, before in enumerate(places):
            if before < 0 or distance < d[before]:
                places[at:] = [row] + [before] * (size - at - 1)
                break
    return [row for row in places if row >= 0]


def keel_icf(d: np.ndarray, codes: np.ndarray, k: int) -> set[int]:
    """ICF with KEEL's test: a row goes if it is in more local sets than its own local set has rows.

    The nearest enemy that bounds a local set is found once, among all rows.
    """
    reaches = d < nearest_enemy(d, codes)[:, None]  # reaches[x, y]: y is in the local set of x
    np.fill_diagonal(reaches, False)
    kept = edit(d, codes, k)
    while True:
        own = (reaches & kept).sum(axis=1)
        others = (reaches & kept[:, None]).sum(axis=0)
        flagged = kept & (others > own)
        if not flagged.any():
            return {int(row) for row in np.flatnonzero(kept)}
        kept &= ~flagged


def keel_hmnei(
    d: np.ndarray, codes: np.ndarray, epsilon: float, *, whole: bool = True, copies: bool = False
) -> set[int]:
    """HMN-EI, with half the number of classes and a quarter of a class rounded down if ``whole``."""
    n_classes = int(codes.max()) + 1
    every = np.arange(len(codes))
    kept, best = every, 0
    while True:
        fewer = _hmn_pass(d, codes, kept, n_classes, epsilon, whole=whole)
        right = sum(vote(d[row], codes, _without(fewer, row), 1, copies=copies) == codes[row] for row in every)
        if right < best or len(fewer) == len(kept):
            return {int(row) for row in kept}
        kept, best = fewer, right


def _without(rows: np.ndarray, row: int) -> np.ndarray:
    """Return ``rows`` without one of them."""
    return rows[rows != row]


def _hmn_pass(
    d: np.ndarray, codes: np.ndarray, rows: np.ndarray, n_classes: int, epsilon: float, *, whole: bool
) -> np.ndarray:
    """Return those of ``rows`` that one pass of HMN-E leaves."""
    hits, misses = np.zeros(len(codes), dtype=int), np.zeros(len(codes), dtype=int)
    for row in rows:
        for code in range(n_classes):
            members = _without(rows[codes[rows] == code], row)
            if len(members):
                (hits if codes[row] == code else misses)[members[d[row, members].argmin()]] += 1
    size = np.bincount(codes[rows], minlength=n_classes)
    half, quarter = (n_classes // 2, size // 4) if whole else (n_classes / 2, size / 4)
    share = size / len(rows)
    left = {int(x) for x in rows if share[codes[x]] * misses[x] + epsilon <= (1 - share[codes[x]]) * hits[x]}
    few = [code for code in range(n_classes) if sum(codes[x] == code for x in left) < 4]
    for x in rows.tolist():
        linked = hits[x] + misses[x] > 0
        if (linked and (codes[x] in few or (n_classes > 3 and misses[x] < half))) or hits[x] >= quarter[codes[x]]:
            left.add(x)
    return np.array(sorted(left), dtype=int)


# The comparison.


@dataclass(frozen=True)
class Pair:
    """One of our selectors and KEEL's rule, ready to run on the rows of a fold.

    ``alike`` is KEEL's rule without its small differences to ours, which the page names: it shows that there are no
    others. Rules that differ in their test have none.
    """

    name: str
    ours: InstanceSelector
    keel: Callable[[], set[int]]
    alike: Callable[[], set[int]] | None = None


class ShuffledIB2(IB2):
    """IB2 that visits the rows in a random order."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def select_rows(self, table: LabelledRows) -> np.ndarray:
        """Return which rows IB2 keeps."""
        (rng,) = generators(self.seed, 1)
        return select_ib2(table, rng.permutation(table.n))


class ShuffledIB3(IB3):
    """IB3 that visits the rows in a random order."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def select_rows(self, table: LabelledRows) -> np.ndarray:
        """Return which rows IB3 keeps."""
        (rng,) = generators(self.seed, 1)
        return select_ib3(table, rng.permutation(table.n), self.acceptance, self.removal, rng)


def pairs(rows: np.ndarray, codes: np.ndarray) -> Iterator[Pair]:
    """Yield the pairs, IB2 and IB3 once for each seed."""
    d = distances(rows)
    yield Pair("FCNN", FCNN(), lambda: keel_fcnn(rows, d, codes), lambda: keel_fcnn(rows, d, codes, by_number=True))
    for seed in SEEDS:
        # Both sides visit the rows in the same random order. IB3 of both draws from the generator after it.
        (rng,) = generators(seed, 1)
        order = rng.permutation(len(codes))
        ib2 = partial(keel_ib2, d, codes, order)
        yield Pair("IB2", ShuffledIB2(seed), ib2, partial(ib2, copies=True))
        yield Pair("IB3", ShuffledIB3(seed), partial(keel_ib3, d, codes, order, rng, 0.9, 0.7))
    for k in (1, 3):  # KEEL's default and ours
        yield Pair(f"DROP3, k = {k}", DROP3(k), partial(keel_drop3, d, codes, k))
    for k in (1, 3):
        yield Pair(f"ICF, k = {k}", ICF(k), partial(keel_icf, d, codes, k))
    hmnei = partial(keel_hmnei, d, codes, 0.1)
    yield Pair("HMNEI", HMNEI(), hmnei, partial(hmnei, whole=False, copies=True))


def folds(name: str, *, whole: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield scaled training rows, their classes, scaled test rows and their classes, for each fold of KEEL.

    With ``whole`` all rows are multiplied by 18, which leaves the order of distances, and must be whole numbers then.
    """
    data = load_dataset(name, GROUP)
    X = np.asarray(data.X, dtype=np.float64)
    _, codes = np.unique(np.asarray(data.y), return_inverse=True)
    fold = np.loadtxt(data_directory() / GROUP / f"{name}.folds.txt", dtype=int)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    for number in np.unique(fold)[: FEW_FOLDS if len(X) > LARGE else None]:
        rows, queries = scale(X[fold != number], X[fold == number], low, high)
        if whole:
            exact = np.rint(rows * WHOLE), np.rint(queries * WHOLE)
            if not (np.allclose(exact[0], rows * WHOLE) and np.allclose(exact[1], queries * WHOLE)):
                raise SystemExit(f"--whole: the scaled rows of {name} times {WHOLE} are no whole numbers")
            rows, queries = exact
        yield rows, codes[fold != number], queries, codes[fold == number]


def measure(name: str, *, whole: bool = False) -> pd.DataFrame:
    """Return one line per selector: in how many runs the same rows are kept, mean shares kept and mean accuracies."""
    lines = []
    for rows, codes, queries, answers in folds(name, whole=whole):

        def accuracy(kept: set[int], rows=rows, codes=codes, queries=queries, answers=answers) -> float:
            at = np.array(sorted(kept))
            return WeightedKNeighborsClassifier(1).fit(rows[at], codes[at]).score(queries, answers)

        for pair in pairs(rows, codes):
            ours, keel = set(pair.ours.fit(rows, codes).sample_indices_.tolist()), pair.keel()
            lines.append(
                {
                    "selector": pair.name,
                    "table": name,
                    "runs": 1,
                    "same_rows": float(ours == keel),
                    "same_rows_alike": float(ours == pair.alike()) if pair.alike else np.nan,
                    "overlap": len(ours & keel) / len(ours | keel),
                    "kept": len(ours) / len(codes),
                    "keel_kept": len(keel) / len(codes),
                    "accuracy": accuracy(ours),
                    "keel_accuracy": accuracy(keel),
                }
            )
    groups = pd.DataFrame(lines).groupby(["selector", "table"], sort=False)
    return groups[COUNTS].sum(min_count=1).join(groups[MEANS].mean()).reset_index()


def main() -> None:
    """Measure the tables, print the means over them, and write the file of ``-o``."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--whole", action="store_true", help="give both sides whole numbers (monk-2, wisconsin)")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=LostClassWarning)
    parts = []
    for name in options.tables:
        parts.append(measure(name, whole=options.whole))
        print(f"\n{name}\n{parts[-1].drop(columns='table').round(3).to_string(index=False)}", flush=True)
    cells = pd.concat(parts, ignore_index=True)
    groups = cells.groupby("selector", sort=False)
    means = groups[COUNTS].sum(min_count=1).join(groups[MEANS].mean())
    print(f"\nsums of runs, and means over {cells['table'].nunique()} tables\n{means.round(3).to_string()}")
    if options.output:
        cells.astype(dict.fromkeys(COUNTS, "Int64")).round(4).to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
