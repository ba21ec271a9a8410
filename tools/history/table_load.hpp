// Rows of one source of one run, into one table, each exactly once.
//
// Every row has a number that its source gives it (the feed's sequence number, the journal's, the
// place in a trace file) and that never changes. Rows come in ascending numbers and are inserted in
// blocks: block b has the numbers from b * block_rows on. What has been loaded is not written down
// anywhere: the store is asked how many rows it has of each block. A block that is whole is passed
// over; one that is not there is inserted; of one that is there in part, which a loader that was
// killed, or a run that went on, left behind, the numbers are asked for, and the others inserted.
// Two loaders of one run at a time may both insert a block: its rows have the same keys, which
// ReplacingMergeTree makes one of. At the end the rows are counted in the store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/history/store.hpp"

namespace tickpath::history {

struct TableLoadOptions {
  std::string table;
  std::string number;  // the column of the number
  std::string where;   // the rows of this source: "run = 'x' AND program = 'y'"
  std::string source;  // for messages, and loads.source
  std::uint64_t block_rows = 1u << 18;
  // After each block that was inserted, not after those that were there.
  std::function<void(const std::string& source, std::uint64_t block, std::uint64_t rows)> stored;
};

class TableLoad {
 public:
  // Asks what the store has. Throws as Store.
  TableLoad(Store& store, TableLoadOptions options);

  // number: higher than that of the row before. row: RowBinary. Throws as Store.
  void add(std::uint64_t number, std::string_view row);
  // Rows are missing here that a former load may have stored: the check is of those that follow.
  void skip() noexcept { checked_ = 0; }
  // The last block, and the check: the store has as many rows as came, from the first on, or from
  // the last skip() on (a source may have dropped what it had before: old journals, a trace file's
  // oldest stamps). Throws
  // likewise, and Error when the count differs. ended: no more can come; else another load may have
  // gone on by now, and rows behind the last one are not counted.
  void finish(bool ended);

  const std::string& source() const noexcept { return options_.source; }
  std::uint64_t rows() const noexcept { return rows_; }          // of the source, so far
  std::uint64_t inserted() const noexcept { return inserted_; }  // by this load
  // In the store, of former loads too; after finish().
  std::uint64_t stored() const noexcept { return stored_; }

 private:
  std::uint64_t block_of(std::uint64_t number) const noexcept {
    return number / options_.block_rows;
  }
  void flush();
  void insert_missing();
  std::uint64_t count(const std::string& condition);

  Store& store_;
  TableLoadOptions options_;
  std::unordered_map<std::uint64_t, std::uint64_t> present_;  // rows by block, before this load
  std::uint64_t block_ = 0;
  std::string bytes_;                   // of the block's rows
  std::vector<std::uint64_t> numbers_;  // likewise
  std::vector<std::size_t> ends_;       // of each row in bytes_
  std::uint64_t first_ = 0;             // number of the first row that is counted
  std::uint64_t last_ = 0;
  std::uint64_t checked_ = 0;  // rows from there on
  std::uint64_t rows_ = 0;
  std::uint64_t inserted_ = 0;
  std::uint64_t stored_ = 0;
};

}  // namespace tickpath::history
