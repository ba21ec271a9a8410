#include "tools/history/table_load.hpp"

#include <algorithm>

namespace tickpath::history {

TableLoad::TableLoad(Store& store, TableLoadOptions options)
    : store_(store), options_(std::move(options)) {
  const std::vector<std::uint64_t> found =
      store_.numbers("SELECT intDiv(" + options_.number + ", " +
                     std::to_string(options_.block_rows) + ") AS block, count() FROM " +
                     options_.table + " FINAL WHERE " + options_.where + " GROUP BY block");
  for (std::size_t i = 0; i + 1 < found.size(); i += 2) present_[found[i]] = found[i + 1];
}

void TableLoad::add(std::uint64_t number, std::string_view row) {
  if (!numbers_.empty() && block_of(number) != block_) flush();
  if (checked_++ == 0) first_ = number;
  block_ = block_of(number);
  last_ = number;
  bytes_ += row;
  numbers_.push_back(number);
  ends_.push_back(bytes_.size());
  ++rows_;
}

void TableLoad::finish(bool ended) {
  if (!numbers_.empty()) flush();
  stored_ = count("");
  if (checked_ == 0) return;
  std::string condition = " AND " + options_.number + " >= " + std::to_string(first_);
  if (!ended) condition += " AND " + options_.number + " <= " + std::to_string(last_);
  if (const std::uint64_t there = count(condition); there != checked_)
    throw Error(options_.source + ": the store has " + std::to_string(there) +
                " rows of this run, its files have " + std::to_string(checked_) +
                ": were other files loaded under its name? Load them under another one (--run)");
}

std::uint64_t TableLoad::count(const std::string& condition) {
  return store_
      .numbers("SELECT count() FROM " + options_.table + " FINAL WHERE " + options_.where +
               condition)
      .at(0);
}

void TableLoad::flush() {
  const auto found = present_.find(block_);
  const std::uint64_t present = found == present_.end() ? 0 : found->second;
  if (present == 0) {
    store_.insert(options_.table, bytes_);
    inserted_ += numbers_.size();
    if (options_.stored) options_.stored(options_.source, block_, numbers_.size());
  } else if (present != numbers_.size()) {
    insert_missing();
  }
  bytes_.clear();
  numbers_.clear();
  ends_.clear();
}

void TableLoad::insert_missing() {
  std::vector<std::uint64_t> there = store_.numbers(
      "SELECT " + options_.number + " FROM " + options_.table + " WHERE " + options_.where +
      " AND " + options_.number + " >= " + std::to_string(numbers_.front()) + " AND " +
      options_.number + " <= " + std::to_string(numbers_.back()));
  std::ranges::sort(there);
  std::string missing;
  std::uint64_t rows = 0;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    if (std::ranges::binary_search(there, numbers_[i])) continue;
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    missing.append(bytes_, begin, ends_[i] - begin);
    ++rows;
  }
  if (rows == 0) return;
  store_.insert(options_.table, missing);
  inserted_ += rows;
  if (options_.stored) options_.stored(options_.source, block_, rows);
}

}  // namespace tickpath::history
