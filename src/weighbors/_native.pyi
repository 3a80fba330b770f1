"""Typed contract of the compiled core, written by tools/native_stub.py: do not edit.

Arrays are C-contiguous and are never converted; the float arrays of a call have one dtype unless their comment in
src/native names another. The structs of src/native/types.hpp say what each argument is. A call processes the rows
[begin, end) only and releases the GIL, so that several threads can share one set of arrays.
"""

from typing import overload

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

class PackedRowsFloat32:
    def __init__(
        self, *, rows: FloatArray, packed: FloatArray, missing_distance: FloatArray, n_numeric: int, missing: bool
    ) -> None: ...
    def compute_distances(
        self, *, queries: FloatArray | None, missing: bool, p: int, distance: FloatArray, begin: int, end: int
    ) -> None: ...
    def compute_zone_coefficients(self, *, zones: Zones, coefficient: FloatArray, begin: int, end: int) -> None: ...
    def add_differences(self, *, coefficient: FloatArray, total: FloatArray, begin: int, end: int) -> None: ...
    def sum_distances(self, *, sums: FloatArray, begin: int, end: int) -> None: ...

class PackedRowsFloat64:
    def __init__(
        self, *, rows: FloatArray, packed: FloatArray, missing_distance: FloatArray, n_numeric: int, missing: bool
    ) -> None: ...
    def compute_distances(
        self, *, queries: FloatArray | None, missing: bool, p: int, distance: FloatArray, begin: int, end: int
    ) -> None: ...
    def compute_zone_coefficients(self, *, zones: Zones, coefficient: FloatArray, begin: int, end: int) -> None: ...
    def add_differences(self, *, coefficient: FloatArray, total: FloatArray, begin: int, end: int) -> None: ...
    def sum_distances(self, *, sums: FloatArray, begin: int, end: int) -> None: ...
    def sum_signs(self, *, coefficient: FloatArray, sums: FloatArray, begin: int, end: int) -> None: ...

def add_listed_differences(
    *,
    rows: FloatArray,
    n_numeric: int,
    query: IndexArray,
    neighbor: IndexArray,
    coefficient: FloatArray,
    output_row: IndexArray,
    total: FloatArray,
    first_feature: int,
    last_feature: int,
    begin: int,
    end: int,
) -> None: ...
def pick_nearest(
    *,
    row: AnyArray,
    ranked_distance: FloatArray,
    codes: IndexArray,
    n_classes: int,
    asked: IndexArray,
    distance: FloatArray,
    found: IndexArray,
    lacking: BoolArray,
) -> None: ...
def add_listed_sparse_differences(
    *,
    start: IndexArray,
    feature: AnyArray,
    value: FloatArray,
    query: IndexArray,
    neighbor: IndexArray,
    coefficient: FloatArray,
    output_row: IndexArray,
    total: FloatArray,
    begin: int,
    end: int,
) -> None: ...

class Zones:
    def __init__(
        self,
        *,
        class_start: IndexArray,
        hit_range: IndexArray,
        factor: FloatArray,
        weight: FloatArray,
        threshold: float,
        far: bool,
        tolerance: float,
    ) -> None: ...

class ZoneRows:
    def __init__(
        self,
        *,
        rows: FloatArray,
        packed: FloatArray | None,
        row_sums: FloatArray | None,
        distance: FloatArray | None,
        order: IndexArray | None,
    ) -> None: ...
    def compute_distances(self, *, distance: FloatArray, begin: int, end: int) -> None: ...
    def add_differences(self, *, zones: Zones, total: FloatArray, begin: int, end: int) -> None: ...

class SparseZoneRows:
    def __init__(
        self,
        *,
        start: IndexArray,
        feature: AnyArray,
        value: FloatArray,
        column_start: IndexArray,
        column_row: AnyArray,
        column_value: FloatArray,
        norm: FloatArray,
    ) -> None: ...
    def add_differences(
        self, *, zones: Zones, total: FloatArray, coefficient_sums: FloatArray, begin: int, end: int
    ) -> None: ...

class MarginRows:
    def __init__(
        self,
        *,
        rows: FloatArray,
        codes: IndexArray,
        missing_distance: FloatArray,
        nominal: BoolArray,
        center: FloatArray,
        levels: FloatArray,
        unit: FloatArray,
        rounding: FloatArray,
    ) -> None: ...
    def pack(self, *, blocks: MarginBlocks, begin: int, end: int) -> None: ...
    def take_steps(
        self, *, blocks: MarginBlocks, order: IndexArray, step: FloatArray, w: FloatArray, begin: int, end: int
    ) -> None: ...

class MarginBlocks:
    @overload
    def __init__(
        self, *, packed: FloatArray, ids: IndexArray, block_code: IndexArray, feature_order: IndexArray
    ) -> None: ...
    @overload
    def __init__(
        self, *, packed: AnyArray, ids: IndexArray, block_code: IndexArray, feature_order: IndexArray
    ) -> None: ...

def count_between(*, limits: FloatArray, values: FloatArray, counts: IndexArray) -> None: ...

class PopulationTableFloat32:
    def __init__(
        self,
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
    ) -> None: ...
    def predict_by_scan(
        self,
        *,
        weights: FloatArray | None,
        scales: FloatArray | None,
        kept: BoolArray | None,
        query: IndexArray,
        predicted: AnyArray,
        first: int,
        last: int,
        begin: int,
        end: int,
    ) -> None: ...
    def predict_from_matrix(
        self,
        *,
        square: FloatArray,
        scales: FloatArray | None,
        kept: BoolArray | None,
        predicted: AnyArray,
        begin: int,
        end: int,
    ) -> None: ...
    def predict_from_lists(
        self, *, lists: AnyArray, selected: AnyArray, predicted: AnyArray, begin: int, end: int
    ) -> None: ...

class PopulationTableFloat64:
    def __init__(
        self,
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
    ) -> None: ...
    def predict_by_scan(
        self,
        *,
        weights: FloatArray | None,
        scales: FloatArray | None,
        kept: BoolArray | None,
        query: IndexArray,
        predicted: AnyArray,
        first: int,
        last: int,
        begin: int,
        end: int,
    ) -> None: ...
    def predict_from_matrix(
        self,
        *,
        square: FloatArray,
        scales: FloatArray | None,
        kept: BoolArray | None,
        predicted: AnyArray,
        begin: int,
        end: int,
    ) -> None: ...
    def predict_from_lists(
        self, *, lists: AnyArray, selected: AnyArray, predicted: AnyArray, begin: int, end: int
    ) -> None: ...

def count_true(*, mask: BoolArray, counts: IndexArray) -> None: ...
def count_differences(*, one: BoolArray, other: BoolArray, counts: IndexArray) -> None: ...
def cross_halves(
    *, target: BoolArray, partner: BoolArray, other: BoolArray, uniform: FloatArray, child: BoolArray
) -> None: ...
def draw_subsets(*, mask: BoolArray, size: IndexArray, uniform: FloatArray, chosen: BoolArray) -> None: ...
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
