// Leave-one-out searches among wide rows compute the distance of each pair of rows once. This is the list of the tiles
// that do so, and how a tile's distances are written to both of their places.
//
// A tile has some lanes of one packed block as queries and all lanes of a block as references. Its queries are
// neighbours in one block, so that a kernel reads all of them through one pointer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "view.hpp"

namespace wb {

struct PairTile {
  std::int64_t lane;   // the first query
  std::int64_t block;  // the references
  bool tail;           // whether the queries are compared with the lanes before them, and not with those after them
  std::int64_t number = 0, of = 1;  // the place of this tile among the listed tiles of the same block
};

// What the list of tiles depends on.
struct PairLayout {
  std::int64_t n_lanes;              // the number of lanes up to the last row; the last block may have more
  std::int64_t block_lanes;          // lanes per block
  std::int64_t width;                // queries per tile, a divisor of `block_lanes`
  std::int64_t first_block, blocks;  // the blocks that are in memory
};

// Lists the tiles of one of `n_pieces` pieces of equal work, ordered by block. A piece has some of the tiles of queries
// with all of their blocks, so that queries are in blocks that the piece reads anyway.
inline std::vector<PairTile> list_pair_tiles(const PairLayout& layout, std::int64_t piece, std::int64_t n_pieces) {
  const std::int64_t n_blocks = (layout.n_lanes + layout.block_lanes - 1) / layout.block_lanes;
  const std::int64_t last_lane = (n_blocks - 1) * layout.block_lanes;
  const auto tiles_of = [&](std::int64_t lanes) { return (lanes + layout.width - 1) / layout.width; };
  // If the last block has few rows, their comparison with all blocks is less work than that of all tiles with the
  // padding of this block.
  const bool has_tail = tiles_of(layout.n_lanes - last_lane) * n_blocks < tiles_of(layout.n_lanes);
  std::vector<PairTile> tiles;
  for (std::int64_t lane = 0; lane < layout.n_lanes; lane += layout.width) {
    const bool tail = has_tail && lane >= last_lane;
    const std::int64_t first = tail ? 0 : lane / layout.block_lanes, end = has_tail && !tail ? n_blocks - 1 : n_blocks;
    for (std::int64_t block = std::max(first, layout.first_block);
         block < std::min(end, layout.first_block + layout.blocks); ++block)
      tiles.push_back({lane, block, tail});
  }
  const std::int64_t count = std::int64_t(tiles.size());
  tiles.erase(tiles.begin() + count * (piece + 1) / n_pieces, tiles.end());
  tiles.erase(tiles.begin(), tiles.begin() + count * piece / n_pieces);
  std::stable_sort(tiles.begin(), tiles.end(), [](const PairTile& a, const PairTile& b) { return a.block < b.block; });
  for (auto first = tiles.begin(); first != tiles.end();) {
    const auto end = std::find_if(first, tiles.end(), [&](const PairTile& tile) { return tile.block != first->block; });
    for (auto tile = first; tile != end; ++tile) tile->number = tile - first, tile->of = end - first;
    first = end;
  }
  return tiles;
}

// Writes the distances of a tile, (width, block_lanes), to both places of each pair in `distance`.
// Each pair belongs to one tile, since two threads must not write the same place.
template <class T>
void write_pair_tile(const PairLayout& layout, const PairTile& tile, const T* tile_distance,
                     const View<T, 2>& distance) {
  const std::int64_t block_lane = tile.block * layout.block_lanes, block_end = block_lane + layout.block_lanes;
  for (std::int64_t lane = tile.lane; lane < std::min(tile.lane + layout.width, layout.n_lanes); ++lane) {
    const T* row = tile_distance + (lane - tile.lane) * layout.block_lanes - block_lane;
    const std::int64_t first = tile.tail ? block_lane : std::max(block_lane, lane);
    const std::int64_t end = tile.tail ? std::min(block_end, lane + 1) : block_end;
    for (std::int64_t other = first; other < end; ++other) distance[lane][other] = distance[other][lane] = row[other];
  }
}

}  // namespace wb
