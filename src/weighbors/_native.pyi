"""Typed contract of the compiled core, written by tools/native_stub.py: do not edit.

Arrays are C-contiguous and are never converted; the float arrays of a call have one dtype unless their comment in
src/native names another. The structs of src/native/types.hpp say what each argument is. A call processes the rows
[begin, end) only and releases the GIL, so that several threads can share one set of arrays.
"""

from ._typing import AnyArray, BoolArray, FloatArray, IndexArray

def multiplies_pairs() -> bool: ...
def propose_rounded(
    *,
    packed: AnyArray,
    norm: AnyArray,
    n: int,
    queries: AnyArray,
    query_norm: AnyArray,
    own: IndexArray | None,
    distance: AnyArray,
    id: IndexArray,
    begin: int,
    end: int,
) -> None: ...
def propose_rounded_pairs(
    *, packed: AnyArray, norm: FloatArray, n: int, square: FloatArray, begin: int, end: int
) -> None: ...

class References:
    pass

def make_references(
    *,
    packed: FloatArray,
    weights: FloatArray | None,
    scales: FloatArray | None,
    ids: IndexArray,
    group_start: IndexArray,
    missing_distance: FloatArray,
    n_numeric: int,
    p: int,
    source: FloatArray | None,
    order: IndexArray | None,
    exact_weights: FloatArray | None,
    exact_missing_distance: FloatArray | None,
) -> References: ...
def pack(
    *,
    source: FloatArray,
    order: IndexArray,
    packed: FloatArray,
    fill: float,
    center: FloatArray | None,
    factor: FloatArray | None,
    n_numeric: int,
    p: int,
    begin: int,
    end: int,
) -> float: ...
def find_k_nearest(
    *,
    references: References,
    queries: FloatArray,
    own: IndexArray | None,
    missing: bool,
    exact_queries: FloatArray | None,
    slack: FloatArray | None,
    distance: FloatArray,
    id: IndexArray,
    begin: int,
    end: int,
) -> None: ...
def find_within(
    *,
    references: References,
    queries: FloatArray,
    own: IndexArray | None,
    missing: bool,
    exact_queries: FloatArray | None,
    slack: FloatArray | None,
    limits: FloatArray,
    begin: int,
    end: int,
) -> tuple[IndexArray, FloatArray, IndexArray]: ...
def compute_symmetric_distances(
    *,
    references: References,
    source: FloatArray,
    order: IndexArray,
    first_block: int,
    missing: bool,
    distance: FloatArray,
    begin: int,
    end: int,
) -> None: ...
def select_nearest(
    *,
    pair_distance: FloatArray,
    order: IndexArray,
    group_start: IndexArray,
    distance: FloatArray,
    id: IndexArray,
    begin: int,
    end: int,
) -> None: ...
def measure_pairs(*, rows: FloatArray, pairs: IndexArray, distance: FloatArray, begin: int, end: int) -> None: ...
def rerank(
    *,
    queries: FloatArray,
    source: FloatArray,
    candidates: IndexArray,
    weights: FloatArray | None,
    weight_row: IndexArray | None,
    scales: FloatArray | None,
    own_row: IndexArray | None,
    missing_distance: FloatArray,
    n_numeric: int,
    p: int,
    distance: FloatArray,
    id: IndexArray,
    begin: int,
    end: int,
) -> None: ...
def round_to_bytes(
    *, rows: FloatArray, low: FloatArray, delta: float, bytes: AnyArray, residual: FloatArray, begin: int, end: int
) -> None: ...
def find_k_nearest_by_bytes(
    *,
    packed: AnyArray,
    ids: IndexArray,
    group_start: IndexArray,
    delta: float,
    largest_residual: float,
    source: FloatArray,
    query_words: AnyArray,
    query_residual: FloatArray,
    queries: FloatArray,
    own_lane: IndexArray | None,
    distance: FloatArray,
    id: IndexArray,
    begin: int,
    end: int,
) -> int: ...

class SparseRows:
    pass

def make_sparse_rows(*, start: IndexArray, feature: AnyArray, value: FloatArray, width: int) -> SparseRows: ...
def find_k_nearest_sparse(
    *,
    queries: SparseRows,
    references: SparseRows,
    columns: SparseRows,
    weights: FloatArray | None,
    query_norm: FloatArray,
    norm: FloatArray,
    order: IndexArray,
    group_start: IndexArray,
    own: IndexArray | None,
    p: int,
    distance: FloatArray,
    id: IndexArray,
    begin: int,
    end: int,
) -> None: ...
def round_to_levels(
    *,
    rows: FloatArray,
    center: FloatArray,
    factor: FloatArray,
    most: FloatArray,
    times: int,
    levels: AnyArray,
    norm: AnyArray,
    residual: FloatArray,
    begin: int,
    end: int,
) -> None: ...
def find_k_nearest_mixed(
    *,
    references: References,
    queries: FloatArray,
    own: IndexArray | None,
    missing: bool,
    exact_queries: FloatArray,
    source: FloatArray,
    exact_weights: FloatArray | None,
    exact_missing_distance: FloatArray,
    shift: FloatArray,
    scale: float,
    most_measured: int,
    distance: FloatArray,
    id: IndexArray,
    begin: int,
    end: int,
) -> int: ...

class Zones:
    pass

def make_zones(
    *,
    class_start: IndexArray,
    hit_range: IndexArray,
    factor: FloatArray,
    weight: FloatArray,
    threshold: float,
    far: bool,
    tolerance: float,
) -> Zones: ...

class PackedRows:
    pass

def make_packed_rows(
    *, rows: FloatArray, packed: FloatArray, missing_distance: FloatArray, n_numeric: int, missing: bool
) -> PackedRows: ...
def compute_distances(
    *, rows: PackedRows, queries: FloatArray | None, missing: bool, p: int, distance: FloatArray, begin: int, end: int
) -> None: ...
def compute_zone_coefficients(
    *, rows: PackedRows, zones: Zones, coefficient: FloatArray, begin: int, end: int
) -> None: ...
def add_differences(*, rows: PackedRows, coefficient: FloatArray, total: FloatArray, begin: int, end: int) -> None: ...
def sum_distances(*, rows: PackedRows, sums: FloatArray, begin: int, end: int) -> None: ...
def add_listed_differences(
    *,
    rows: FloatArray,
    n_numeric: int,
    first_feature: int,
    last_feature: int,
    query: IndexArray,
    neighbor: IndexArray,
    coefficient: FloatArray,
    output_row: IndexArray,
    total: FloatArray,
    begin: int,
    end: int,
) -> None: ...
def add_listed_sparse_differences(
    *,
    rows: SparseRows,
    query: IndexArray,
    neighbor: IndexArray,
    coefficient: FloatArray,
    output_row: IndexArray,
    total: FloatArray,
    begin: int,
    end: int,
) -> None: ...
def pick_nearest(
    *,
    row: AnyArray,
    ranked_distance: FloatArray,
    codes: IndexArray,
    asked: IndexArray,
    distance: FloatArray,
    id: IndexArray,
    lacking: BoolArray,
    begin: int,
    end: int,
) -> None: ...
def sum_signs(*, rows: PackedRows, coefficient: FloatArray, sums: FloatArray, begin: int, end: int) -> None: ...

class ZoneRows:
    pass

def make_zone_rows(
    *,
    rows: FloatArray,
    packed: FloatArray | None,
    row_sums: FloatArray | None,
    distance: FloatArray | None,
    order: IndexArray | None,
) -> ZoneRows: ...
def compute_zone_distances(*, rows: ZoneRows, distance: FloatArray, begin: int, end: int) -> None: ...
def add_zone_differences(*, rows: ZoneRows, zones: Zones, total: FloatArray, begin: int, end: int) -> None: ...
def add_sparse_zone_differences(
    *,
    rows: SparseRows,
    columns: SparseRows,
    norm: FloatArray,
    zones: Zones,
    total: FloatArray,
    coefficient_sums: FloatArray,
    begin: int,
    end: int,
) -> None: ...

class Margins:
    pass

def make_margins(
    *,
    rows: FloatArray,
    codes: IndexArray,
    missing_distance: FloatArray,
    nominal: BoolArray,
    mixed: bool,
    center: FloatArray,
    levels: FloatArray,
    unit: FloatArray,
    rounding: FloatArray,
    packed: FloatArray,
    ids: IndexArray,
    block_code: IndexArray,
    feature_order: IndexArray,
) -> Margins: ...
def pack_margins(*, margins: Margins, begin: int, end: int) -> None: ...
def take_simba_steps(
    *, margins: Margins, order: IndexArray, step: FloatArray, w: FloatArray, begin: int, end: int
) -> None: ...
def count_between(*, limits: FloatArray, values: FloatArray, counts: IndexArray) -> None: ...

class PopulationTable:
    pass

def make_population_table(
    *,
    rows: FloatArray,
    centered: FloatArray,
    missing_distance: FloatArray,
    n_numeric: int,
    missing: bool,
    codes: AnyArray,
    targets: FloatArray | None,
    otherwise: float,
    n_classes: int,
    k: int,
    columns: FloatArray | None,
    half_range: FloatArray | None,
) -> PopulationTable: ...
def predict_by_scan(
    *,
    table: PopulationTable,
    weights: FloatArray | None,
    scales: FloatArray | None,
    kept: BoolArray | None,
    query: IndexArray | None,
    predicted: AnyArray | None,
    numbers: FloatArray | None,
    first: int,
    last: int,
    begin: int,
    end: int,
) -> None: ...
def predict_from_matrix(
    *,
    table: PopulationTable,
    square: FloatArray,
    scales: FloatArray | None,
    kept: BoolArray | None,
    predicted: AnyArray | None,
    numbers: FloatArray | None,
    begin: int,
    end: int,
) -> None: ...
def predict_from_lists(
    *,
    table: PopulationTable,
    lists: AnyArray,
    selected: AnyArray,
    predicted: AnyArray | None,
    numbers: FloatArray | None,
    begin: int,
    end: int,
) -> None: ...
def cross_halves(
    *, target: BoolArray, partner: BoolArray, other: BoolArray, uniform: FloatArray, child: BoolArray
) -> None: ...
def solve_local_votes(
    *,
    rows: FloatArray,
    missing_distance: FloatArray,
    n_numeric: int,
    missing: bool,
    p: int,
    neighbor: IndexArray,
    distance: FloatArray,
    repetition: FloatArray | None,
    width: float,
    ridge: float,
    votes: FloatArray,
    begin: int,
    end: int,
) -> None: ...

BLOCK_LANES_FLOAT32: int

BLOCK_LANES_FLOAT64: int

BYTE_LANES: int

ROUNDED_PANEL: int

VECTOR_EXTENSIONS: bool

def cpu_level() -> str: ...
def set_cpu_level(arg: str, /) -> None: ...
