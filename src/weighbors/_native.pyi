"""Typed contract of the compiled core: arrays in, arrays out, a row range, no GIL.

Who calls what::

    engine.backends.scan    -> pack, find_k_nearest, find_within, compute_symmetric_distances, select_nearest
    engine.backends.bytes   -> round_to_bytes, find_k_nearest_by_bytes
    engine.backends.certify -> rerank
    engine.backends.rounded -> multiplies_pairs, round_to_levels, propose_rounded
    engine.backends.single  -> find_k_nearest_mixed
    engine.backends.sparse_rows -> find_k_nearest_sparse
    engine.backends.wide    -> multiplies_pairs, propose_rounded_pairs, select_nearest, measure_pairs
    engine.pairs            -> pack, compute_distances, add_differences, sum_distances, sum_signs
    engine.listed           -> add_listed_differences, add_listed_sparse_differences
    engine.zones            -> compute_zone_coefficients, compute_zone_distances, add_zone_differences
    engine.sparse_zones     -> add_sparse_zone_differences
    engine.population       -> count_true, predict_by_scan, predict_from_matrix, predict_from_lists, predict_from_ranks
    engine.population_cache -> compute_squared_distances
    engine.margins          -> pack_margins, take_simba_steps, HelperThreads
    kernel.local            -> solve_local_votes
    weighers.shared_rows    -> pick_nearest
    _null_weights           -> count_between
    _parallel.threads       -> forbid_this_cpu, allow_cpus_of, HelperThreads
    weighers.evolution      -> count_differences, cross_halves, draw_subsets

All arguments are keyword-only. All arrays are C-contiguous and are never converted; all float arrays of one
call have one dtype, float32 or float64, unless a comment names another. Features are ordered numeric first
(``n_numeric`` of them), nominal last. Packed references have the shape (n_blocks, m, lanes) with ``lanes`` =
BLOCK_LANES_FLOAT32 or BLOCK_LANES_FLOAT64. ``missing_distance`` is, per feature, the difference that a
missing value or a mismatch of categories counts. A call processes the rows [begin, end) only, so that
several threads can share one set of arrays.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ._typing import AnyArray, BoolArray, FloatArray, IndexArray

BLOCK_LANES_FLOAT32: int
BLOCK_LANES_FLOAT64: int
BYTE_LANES: int
ROUNDED_PANEL: int  # pairs of features
VECTOR_EXTENSIONS: bool

class HelperThreads:
    """Threads that share the parts of a task which one of them leads; see _parallel.threads.run_with_helpers."""

    def help(self) -> None: ...  # computes parts until close is called
    def close(self) -> None: ...

def forbid_this_cpu(thread_ids: Sequence[int]) -> bool: ...  # False, and no effect, if the caller has no other CPU
def allow_cpus_of(thread_id: int) -> None: ...  # allows the calling thread the CPUs of another thread
def cpu_level() -> str: ...
def set_cpu_level(name: str) -> None: ...
def pack(
    *,
    source: FloatArray,  # (n, m)
    order: IndexArray,  # (n_blocks * lanes,) row of source per lane, -1: padding
    packed: FloatArray,  # (n_blocks, m, lanes) written
    fill: float,  # value of padding lanes
    center: FloatArray | None,  # (m,) with factor: packed = (x - center) * factor
    factor: FloatArray | None,
    n_numeric: int,  # features that count in the norm
    p: int,
    begin: int,  # blocks [begin, end)
    end: int,
) -> float: ...  # largest norm among these rows over numeric features (p = 2: squared)
def find_k_nearest(
    *,
    queries: FloatArray,  # (n_queries, m), folded if the references are
    query_ids: IndexArray | None,  # (n_queries,) row number that a query must not find
    packed: FloatArray,
    weights: FloatArray | None,  # like packed: a per reference and feature
    scales: FloatArray | None,  # (n_blocks * lanes,) v ** p
    ids: IndexArray,  # (n_blocks * lanes,) row number per lane, -1: padding
    group_start: IndexArray,  # (n_groups + 1,) first block of each group
    missing_distance: FloatArray,  # (m,)
    n_numeric: int,
    missing: bool,  # NaN may occur among numeric features
    p: int,
    distance: FloatArray,  # (n_queries, n_groups, k) continued; p = 2: squared; inf before the first call
    id: IndexArray,  # the same shape; -1 before the first call
    source: FloatArray | None,  # (n, m) unfolded; given if queries and packed are folded
    order: IndexArray | None,  # (n_blocks * lanes,) row of source per lane
    exact_queries: FloatArray | None,  # (n_queries, m) unfolded
    exact_weights: FloatArray | None,  # (m,)
    exact_missing_distance: FloatArray | None,  # (m,) unfolded
    slack: FloatArray | None,  # (n_queries,) error bound of a folded distance
    begin: int,  # queries [begin, end)
    end: int,
) -> None: ...
def find_k_nearest_mixed(
    *,
    queries: FloatArray,  # (n_queries, m) float32, folded; this and what follows as in find_k_nearest
    query_ids: IndexArray | None,
    packed: FloatArray,  # float32, folded
    ids: IndexArray,
    group_start: IndexArray,
    missing_distance: FloatArray,  # (m,) float32, folded
    n_numeric: int,
    missing: bool,
    p: int,
    exact_queries: FloatArray,  # (n_queries, m) float64, as all arrays that follow
    source: FloatArray,  # (n, m)
    exact_weights: FloatArray | None,  # (m,)
    exact_missing_distance: FloatArray,  # (m,)
    shift: FloatArray,  # (n_queries,) bound on what folding changes in a scaled distance (not squared)
    scale: float,  # factor of folded distances (not squared)
    most_measured: int,  # after so many exact distances the search ends without a result
    distance: FloatArray,  # (n_queries, n_groups, k) continued
    id: IndexArray,  # the same shape
    begin: int,  # queries [begin, end)
    end: int,
) -> int: ...  # number of exact distances; more than most_measured: the lists have no meaning
def propose_rounded_pairs(
    *,
    packed: AnyArray,  # (n_blocks, pairs, lanes) int32: two features of 16 bits; whole panels
    norm: FloatArray,  # (n_blocks * lanes,) float64, squared norms
    n: int,  # rows
    square: FloatArray,  # (n_lanes, n_lanes) float32, written on both sides; that of padding has no meaning
    piece: int,  # which of the pieces of equal work
    n_pieces: int,
) -> None: ...
def measure_pairs(
    *,
    rows: FloatArray,  # (n, m)
    pairs: IndexArray,  # (n_pairs, 2) rows
    distance: FloatArray,  # (n_pairs,) written: squared, p = 2
    begin: int,  # pairs
    end: int,
) -> None: ...
def compute_symmetric_distances(
    *,
    source: FloatArray,  # (n, m) all stored rows
    order: IndexArray,  # (n_lanes,) row of source per lane of all blocks, -1: padding
    packed: FloatArray,  # some blocks
    first_block: int,  # the number of the first of them
    missing_distance: FloatArray,
    n_numeric: int,
    missing: bool,
    p: int,
    distance: FloatArray,  # (n_lanes, n_lanes) written on both sides; p = 2: squared; the diagonal has no meaning
    piece: int,  # which of the pieces of equal work
    n_pieces: int,
) -> None: ...
def select_nearest(
    *,
    pair_distance: FloatArray,  # (n_lanes, n_lanes) of compute_symmetric_distances, for all blocks
    order: IndexArray,
    group_start: IndexArray,  # (n_groups + 1,) first block of each group
    distance: FloatArray,  # (n, n_groups, k) written
    id: IndexArray,  # the same shape, written; -1: there are fewer than k
    begin: int,  # lanes
    end: int,
) -> None: ...
def find_within(
    *,
    queries: FloatArray,  # this and the other arguments as in find_k_nearest
    query_ids: IndexArray | None,
    packed: FloatArray,
    weights: FloatArray | None,
    scales: FloatArray | None,
    ids: IndexArray,
    group_start: IndexArray,
    missing_distance: FloatArray,
    n_numeric: int,
    missing: bool,
    p: int,
    limits: FloatArray,  # (n_queries,) distances below are wanted; p = 2: squared
    source: FloatArray | None,
    order: IndexArray | None,
    exact_queries: FloatArray | None,
    exact_weights: FloatArray | None,
    exact_missing_distance: FloatArray | None,
    slack: FloatArray | None,
    begin: int,
    end: int,
) -> tuple[IndexArray, FloatArray, IndexArray]: ...  # length of each list, and distances and ids of all lists
def rerank(
    *,
    queries: FloatArray,
    source: FloatArray,
    candidates: IndexArray,  # (n_queries, width) rows of source, -1: none
    weights: FloatArray | None,  # (n_weights, m)
    weight_row: IndexArray | None,  # (n,) row of weights per reference; None: row 0
    scales: FloatArray | None,  # (n,)
    own_row: IndexArray | None,  # (n_queries,) row that a query must not find
    missing_distance: FloatArray,
    n_numeric: int,
    p: int,
    distance: FloatArray,  # (n_queries, k) written
    id: IndexArray,
    begin: int,
    end: int,
) -> None: ...
def round_to_bytes(
    *,
    rows: FloatArray,  # (n, m), none missing
    low: FloatArray,  # (m,) float64
    delta: float,  # width of one of the 256 levels
    bytes: NDArray[np.uint8],  # (n, at least m) written: round((x - low) / delta), clipped
    residual: FloatArray,  # (n,) float64 written: city-block distance by which rounding moved each row
    begin: int,
    end: int,
) -> None: ...
def find_k_nearest_sparse(
    *,
    query_start: IndexArray,  # (n_queries + 1,)
    query_feature: NDArray[np.int32],  # ascending within a row
    query_value: FloatArray,
    start: IndexArray,  # (n + 1,)
    feature: NDArray[np.int32],
    value: FloatArray,
    column_start: IndexArray,  # (m + 1,) the references by feature
    column_row: NDArray[np.int32],
    column_value: FloatArray,  # float64
    weights: FloatArray | None,  # (m,)
    query_norm: FloatArray,  # (n_queries,) float64: sums of the p-th powers, times the weights
    norm: FloatArray,  # (n,) float64
    order: IndexArray,  # (n,) references, those of a group together
    group_start: IndexArray,  # (n_groups + 1,)
    own: IndexArray | None,  # (n_queries,) reference that a query must not find, or -1
    p: int,
    distance: FloatArray,  # (n_queries, n_groups, k) written: squared for p = 2
    id: IndexArray,  # the same shape, written
    begin: int,
    end: int,
) -> None: ...
def round_to_levels(
    *,
    rows: FloatArray,  # (n, m), none missing
    center: FloatArray,  # (m,) float64
    factor: FloatArray,  # (m,) float64
    most: FloatArray,  # (m,) float64: the largest level of each feature
    times: int,  # the levels are multiplied by it, the norms are not
    packed: bool,  # whether levels are packed into blocks
    levels: NDArray[np.int32],  # (n, pairs), or (n_blocks, pairs, lanes): two features of 16 bits each, written
    norm: NDArray[np.int32],  # (at least n,) written: squared norms
    residual: FloatArray,  # (n,) float64 written: Euclidean distance in levels by which rounding moved each row
    begin: int,
    end: int,
) -> None: ...
def find_k_nearest_by_bytes(
    *,
    packed: NDArray[np.uint64],  # (n_blocks, words, BYTE_LANES): references 0 2 4 6 1 3 5 7 of a block
    ids: IndexArray,  # (n_blocks * BYTE_LANES,) row of source per lane, -1: padding, last in its group
    group_start: IndexArray,  # (n_groups + 1,) first block of each group
    delta: float,
    largest_residual: float,  # of the references
    source: FloatArray,  # (n, m)
    query_words: NDArray[np.uint64],  # (n_queries, words)
    query_residual: FloatArray,  # (n_queries,) float64
    queries: FloatArray,  # (n_queries, m)
    own_lane: IndexArray | None,  # (n_queries,) lane that a query must not find
    distance: FloatArray,  # (n_queries, n_groups, k) city-block; inf before the first call
    id: IndexArray,  # the same shape; -1 before the first call
    begin: int,
    end: int,
) -> int: ...  # number of exact distances that were needed
def multiplies_pairs() -> bool: ...  # whether the CPU level in use has the instruction of propose_rounded
def propose_rounded(
    *,
    packed: NDArray[np.int32],  # (n_blocks, pairs, BLOCK_LANES_FLOAT32) two features of 16 bits each
    norm: NDArray[np.int32],  # (n_blocks * lanes,) squared norms
    n: int,  # references; lanes beyond are padding
    queries: NDArray[np.int32],  # (n_queries, pairs) the same times -2
    query_norm: NDArray[np.int32],  # (n_queries,)
    own: IndexArray | None,  # (n_queries,) reference that a query must not find
    distance: NDArray[np.int32],  # (n_queries, k) written: squared distances of the rounded rows, ascending
    id: IndexArray,  # the same shape, written
    begin: int,
    end: int,
) -> None: ...
def compute_distances(
    *,
    queries: FloatArray,  # (n_queries, m)
    packed: FloatArray,
    missing_distance: FloatArray,  # (m,)
    n_numeric: int,
    missing: bool,
    p: int,
    distance: FloatArray,  # (end - begin, n_blocks * lanes) written; p = 2: squared
    begin: int,
    end: int,
) -> None: ...
def compute_zone_coefficients(
    *,
    rows: FloatArray,  # (n, m)
    packed: FloatArray,  # all of them
    missing_distance: FloatArray,
    n_numeric: int,
    missing: bool,
    class_start: IndexArray,  # (n_classes + 1,) rows are ordered by class, or by a numeric target
    hit_range: IndexArray,  # (n, 2) first hit of each row and the row after the last one; (0, 2): there are classes
    factor: FloatArray,  # (n_classes, n_classes) float64: own class, class of the neighbour; or (1, 2): hits, misses
    weight: FloatArray,  # (n,) float64
    threshold: float,  # negative: each row's mean, half its standard deviation on either side
    far: bool,
    tolerance: float,
    coefficient: FloatArray,  # (end - begin, n_blocks * lanes) written
    begin: int,
    end: int,
) -> None: ...
def compute_zone_distances(
    *,
    rows: FloatArray,  # (n, stride) float64, whole vectors, 0 beyond m, none missing
    packed: FloatArray,  # all of them, m features
    row_sums: FloatArray,  # (n_blocks * lanes,)
    distance: FloatArray,  # (n, n_blocks * lanes) float64, written: city-block distances
    begin: int,  # rows
    end: int,
) -> None: ...
def add_zone_differences(
    *,
    rows: FloatArray,  # as in compute_zone_distances, ordered by class
    packed: FloatArray | None,
    row_sums: FloatArray | None,
    distance: FloatArray | None,  # (n, n) float64, of the rows in another order, in place of packed and row_sums
    order: IndexArray | None,  # (n,) place of each row in that order
    class_start: IndexArray,
    hit_range: IndexArray,
    factor: FloatArray,
    weight: FloatArray,
    threshold: float,
    far: bool,
    tolerance: float,
    total: FloatArray,  # (stride,) float64, added to
    begin: int,
    end: int,
) -> None: ...
def add_sparse_zone_differences(
    *,
    start: IndexArray,  # (n + 1,) first entry of each row
    feature: NDArray[np.int32],  # of each entry, ascending within a row
    value: FloatArray,  # float64, of each entry
    column_start: IndexArray,  # (m + 1,) the same entries by feature
    column_row: NDArray[np.int32],
    column_value: FloatArray,
    norm: FloatArray,  # (n,) float64: sum of |value| of each row
    class_start: IndexArray,  # this and what follows as in add_zone_differences
    hit_range: IndexArray,
    factor: FloatArray,
    weight: FloatArray,
    threshold: float,
    far: bool,
    tolerance: float,
    total: FloatArray,  # (m,) float64, added to: coefficient * (|x - z| - |x| - |z|) over pairs of rows
    coefficient_sums: FloatArray,  # (n,) float64, added to: the coefficients of all pairs that a row is in
    begin: int,
    end: int,
) -> None: ...
def add_differences(
    *,
    queries: FloatArray,
    packed: FloatArray,
    missing_distance: FloatArray,  # (m,) how far a missing number is from all others, if missing
    n_numeric: int,
    missing: bool,  # whether numbers may be missing
    coefficient: FloatArray,  # (end - begin, n_blocks * lanes), 0 for padding
    total: FloatArray,  # (m,) float64, added to
    begin: int,
    end: int,
) -> None: ...
def sum_distances(
    *,
    queries: FloatArray,
    packed: FloatArray,
    n: int,  # references
    sums: FloatArray,  # (n_queries,) float64, written
    begin: int,
    end: int,
) -> None: ...
def add_listed_differences(
    *,
    rows: FloatArray,  # (n, m)
    n_numeric: int,
    query: IndexArray,  # (n_lists,) rows
    neighbor: IndexArray,  # (n_lists, width) rows, -1: none
    coefficient: FloatArray,  # the same shape, float64
    output_row: IndexArray,  # the same shape: row of total
    total: FloatArray,  # (n_output_rows, m) float64, added to
    first_feature: int,  # features [first_feature, last_feature)
    last_feature: int,
    begin: int,  # lists [begin, end)
    end: int,
) -> None: ...
def pick_nearest(
    *,
    row: AnyArray,  # (n, length) int32: other rows, nearest first
    ranked_distance: FloatArray,  # the same shape
    codes: IndexArray,  # (n,) class of each row
    n_classes: int,
    asked: IndexArray,  # (n_asked,) rows whose neighbours are wanted
    distance: FloatArray,  # (n_asked, n_classes, width) written as far as there are rows
    found: IndexArray,  # the same shape
    lacking: BoolArray,  # (n_asked,) written: whether a class has fewer than width rows in the list
) -> None: ...
def count_between(
    *,
    limits: FloatArray,  # (n,) float64, ascending, NaN last
    values: FloatArray,  # float64; NaN counts as below all limits
    counts: IndexArray,  # (n + 1,) added to: values below all limits, ..., values that reach all of them
) -> None: ...
def add_listed_sparse_differences(
    *,
    start: IndexArray,  # (n + 1,)
    feature: NDArray[np.int32],  # ascending within a row
    value: FloatArray,
    query: IndexArray,  # this and the others as in add_listed_differences
    neighbor: IndexArray,
    coefficient: FloatArray,
    output_row: IndexArray,
    total: FloatArray,
    begin: int,
    end: int,
) -> None: ...
def pack_margins(
    *,
    rows: FloatArray,  # (n, m) float64
    center: FloatArray,  # (m,) packed = (x - center) * levels
    levels: FloatArray,
    feature_order: IndexArray,  # (m,)
    ids: IndexArray,  # (n_blocks * lanes,) lanes as of float32
    packed: FloatArray,  # (n_blocks, m, lanes) float32, or int16 to which values are rounded
    begin: int,  # blocks
    end: int,
) -> None: ...
def take_simba_steps(
    *,
    rows: FloatArray,  # (n, m) float64
    codes: IndexArray,  # (n,)
    missing_distance: FloatArray,  # (m,)
    nominal: BoolArray,  # (m,)
    mixed: bool,  # nominal features or missing values occur
    packed: FloatArray,  # blocks of one class each; float32 for mixed data, int16 otherwise; none yet: (0, m, lanes)
    center: FloatArray,  # (m,) packed = (x - center) * levels
    levels: FloatArray,
    unit: FloatArray,  # (m,) 1 / levels²
    rounding: FloatArray,  # (m,) square of the largest rounding error of a packed value
    ids: IndexArray,
    block_code: IndexArray,  # (n_blocks,)
    feature_order: IndexArray,  # (m,)
    expanded: bool,  # scan by (w z - 2 w x) z: fewer operations, but no early exit
    listed: IndexArray,  # (n, 2, width) nearest hits and misses under the reference weights
    listed_square: FloatArray,  # the same shape: their squared distances, ascending
    unlisted_distance: FloatArray,  # (n, 2) lower bound on the distance of all rows that are not listed
    reference: FloatArray,  # (m,) positive reference weights
    order: IndexArray,  # (n_steps,) row of each step
    step: FloatArray,  # (n_steps,)
    beta: float,  # sigmoid utility; 0: linear
    w: FloatArray,  # (m,) float64, changed
    helpers: HelperThreads,  # threads that share the scans
    begin: int,
    end: int,
) -> tuple[int, int]: ...  # the step at which it stopped (packed rows are needed), steps that scanned all rows
def predict_by_scan(
    *,
    rows: FloatArray,  # (n, m) numeric first
    centered: FloatArray,  # (n, m) numbers minus the middle of their range
    missing_distance: FloatArray,
    n_numeric: int,
    missing: bool,
    values: AnyArray,  # (n,) int32 codes of classes, or float64 targets, whose mean is predicted
    otherwise: float,  # prediction of a target if no other row is selected (of a class: -1)
    n_classes: int,
    k: int,
    weights: FloatArray | None,  # (n_individuals, 1 or n_classes, m) a, 0: not selected
    scales: FloatArray | None,  # (n_individuals, n) v ** 2
    kept: BoolArray | None,  # (n_individuals, n)
    orders: AnyArray | None,  # (m, n) int32, rows sorted by each feature: permutations
    guesses: AnyArray,  # (n, n_guesses) int32, other rows that are near without weights; may be empty
    columns: AnyArray | None,  # (m, n) float32, centered divided by half_range: in [-1, 1]; None: nominal or missing
    half_range: AnyArray | None,  # (m,) float64, the largest absolute value of centered
    query: IndexArray,  # (n_queries,) rows to predict
    predicted: AnyArray,  # (n_individuals, n_queries) of the dtype of values, written; class -1: no row is selected
    first: int,  # individuals [first, last)
    last: int,
    begin: int,  # queries [begin, end)
    end: int,
) -> None: ...
def compute_squared_distances(
    *,
    rows: FloatArray,
    missing_distance: FloatArray,
    n_numeric: int,
    missing: bool,
    query: IndexArray,  # all rows in order
    square: FloatArray,  # (end - begin, whole blocks of lanes) written; infinite to itself and for padding
    begin: int,
    end: int,
) -> None: ...
def predict_from_matrix(
    *,
    square: FloatArray,  # as compute_squared_distances wrote it
    values: AnyArray,
    otherwise: float,
    n_classes: int,
    k: int,
    scales: FloatArray | None,
    kept: BoolArray | None,
    query: IndexArray,
    predicted: AnyArray,
    first: int,
    last: int,
    begin: int,
    end: int,
) -> None: ...
def predict_from_lists(
    *,
    lists: AnyArray,  # (n, width) int32 rows by (distance, row), the row itself left out
    selected: AnyArray,  # (n, n_words) uint64, one bit per individual
    values: AnyArray,
    otherwise: float,  # written if no other row is selected
    unlisted: float,  # written if the list is too short
    n_classes: int,
    k: int,
    predicted: AnyArray,  # (n_individuals, n) of the dtype of values, written
    begin: int,  # rows [begin, end)
    end: int,
) -> None: ...
def predict_from_ranks(
    *,
    ranks: AnyArray,  # (n_blocks, n, 64) int16: place of row x in 64 lists; 32767 in its own list and for padding
    code_bits: int,  # lowest bits of a rank that hold the class of row x; 0: it is looked up in values
    selected: AnyArray,  # int32, the selected rows of all individuals, one after the other
    start: IndexArray,  # (n_individuals + 1,) first selected row of each individual
    values: AnyArray,  # (n,) as in predict_from_lists, for k = 1
    otherwise: float,
    predicted: AnyArray,  # (n_individuals, n) of the dtype of values, written
    begin: int,  # rows [begin, end)
    end: int,
) -> None: ...
def count_true(*, mask: NDArray[np.bool_], counts: IndexArray) -> None: ...  # counts: (rows,) written
def count_differences(
    *,
    one: NDArray[np.bool_],
    other: NDArray[np.bool_],  # the same shape
    counts: IndexArray,  # (rows,) written: how many places differ
) -> None: ...
def cross_halves(
    *,
    target: NDArray[np.bool_],
    partner: NDArray[np.bool_],  # the same shape
    other: NDArray[np.bool_],  # (rows,) whether the child of the partner is wanted
    uniform: FloatArray,  # at least one number in [0, 1) per differing bit
    child: NDArray[np.bool_],  # written
) -> None: ...
def draw_subsets(
    *,
    mask: BoolArray,  # (n_rows, length)
    size: IndexArray,  # (n_rows,) number of true places to choose
    uniform: FloatArray,  # float64 in [0, 1), one per true place, row after row, and one more
    chosen: BoolArray,  # (n_rows, length) written
) -> None: ...
def solve_local_votes(
    *,
    rows: FloatArray,  # (n, m) folded
    missing_distance: FloatArray,  # (m,) folded
    n_numeric: int,
    missing: bool,
    p: int,
    neighbor: IndexArray,  # (n_queries, k)
    distance: FloatArray,  # (n_queries, k) not squared
    repetition: FloatArray | None,  # (n,) float64
    width: float,
    ridge: float,
    votes: FloatArray,  # (n_queries, k) float64, written
    begin: int,  # queries [begin, end)
    end: int,
) -> None: ...
def sum_signs(
    *,
    queries: FloatArray,  # (n_queries, m) float64, as all arrays here
    packed: FloatArray,
    n_numeric: int,
    coefficient: FloatArray,  # (end - begin, n_blocks * lanes), 0 for padding
    sums: FloatArray,  # (end - begin, n_numeric) written
    begin: int,
    end: int,
) -> None: ...
