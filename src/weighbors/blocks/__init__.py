"""Tables in blocks: sources (Dask collections, parquet folders, mapped files) → blocks → coded rows.

`open_source` cuts a table into blocks before any row is read. The task that processes a block reads and codes it.
`BlockTable` is a table whose blocks were measured once, and `BlockEngine` searches it for neighbours.
"""

from .._parallel.progress import show_progress
from .block import Block, Header, Piece, read_block, read_labels
from .encode import BlockEncoder, ColumnCoding, EncodedBlock, encode_block
from .engine import BlockEngine, BlockPlan
from .lazy import answer_lazily, select_columns, select_rows
from .profile import block_range, merge_ranges
from .sources import Source, is_path, open_source
from .table import (
    BlockTable,
    LazyRows,
    RowBlocks,
    is_blocks,
    read_blocks,
    read_queries,
    read_target,
    read_training_blocks,
)

__all__ = [
    "Block",
    "BlockEncoder",
    "BlockEngine",
    "BlockPlan",
    "BlockTable",
    "ColumnCoding",
    "EncodedBlock",
    "Header",
    "LazyRows",
    "Piece",
    "RowBlocks",
    "Source",
    "answer_lazily",
    "block_range",
    "encode_block",
    "is_blocks",
    "is_path",
    "merge_ranges",
    "open_source",
    "read_block",
    "read_blocks",
    "read_labels",
    "read_queries",
    "read_target",
    "read_training_blocks",
    "select_columns",
    "select_rows",
    "show_progress",
]
