#include "common/stores/home/index.hpp"

#include <algorithm>

namespace tickpath::home {

void HomeIndex::attach(link::Connection& connection, const HomeRegions& regions,
                       const HomeLayout& layout) noexcept {
  use(connection);
  words_ = regions.words;
  layout_ = layout;
  step_ = Step::kIdle;
  spare_row_ = 0;  // of another home, or stored by a request without an answer
}

bool HomeIndex::find(std::uint64_t symbol) noexcept {
  if (step_ != Step::kIdle || !attached() || symbol == 0) return false;
  insert_ = false;
  symbol_ = symbol;
  bucket_ = layout_.first_bucket(symbol);
  looked_at_ = 0;
  return ask_bucket();
}

bool HomeIndex::claim(std::uint64_t symbol, std::uint32_t venue, wire::Writer writer,
                      std::span<const std::uint64_t> lanes) noexcept {
  if (!find(symbol)) return false;
  insert_ = true;
  patience_ = kPatience;
  venue_ = venue;
  writer_ = writer;
  std::copy_n(lanes.begin(), std::min(lanes.size(), lanes_.size()), lanes_.begin());
  return true;
}

bool HomeIndex::ask(Step step, rdma::Opcode opcode, std::size_t offset, std::uint64_t first,
                    std::uint64_t second) noexcept {
  rdma::WorkRequest request = read_of(words_, sizeof(std::uint64_t));
  request.opcode = opcode;
  request.local_address = memory() + kCacheLineBytes;
  request.remote_address += offset;
  request.compare_add = first;
  request.swap = second;
  if (step == Step::kBucket) {
    request.local_address = memory();
    request.length_bytes = kCacheLineBytes;
  }
  arrived_ = failed_ = false;
  wanted_ = first;
  if (post(request) != rdma::PostStatus::kOk) {
    step_ = Step::kIdle;
    return false;
  }
  step_ = step;
  return true;
}

bool HomeIndex::ask_bucket() noexcept {
  return ask(Step::kBucket, rdma::Opcode::kRead, layout_.bucket(bucket_));
}

HomeIndex::Result HomeIndex::step() noexcept {
  if (step_ == Step::kIdle) return Result::kFailed;
  if (failed_) {
    step_ = Step::kIdle;
    return Result::kFailed;
  }
  if (!arrived_) return Result::kPending;
  Result result = Result::kFailed;
  switch (step_) {
    case Step::kBucket:
      result = look();
      break;
    case Step::kName:
      result = named();
      break;
    case Step::kCount:
      // More may have been counted than there are.
      spare_row_ = answer() < layout_.shape().rows ? answer() + 1 : 0;
      result = spare_row_ != 0 ? give_row() : Result::kFull;
      break;
    case Step::kRow:
      // Somebody who found it without a row may have been first: then that one is it, and ours is
      // left for another symbol.
      if (answer() == 0) spare_row_ = 0;
      result = go(ask_bucket());
      break;
    case Step::kClaim:
    case Step::kSwap:
      result = claimed();
      break;
    case Step::kIdle:
      break;
  }
  if (result != Result::kPending) step_ = Step::kIdle;
  return result;
}

HomeIndex::Result HomeIndex::look() noexcept {
  for (entry_ = 0; entry_ < kBucketEntries; ++entry_) {
    const IndexEntry& entry = bucket()[entry_];
    if (entry.symbol == symbol_) return with_row(entry.row_plus_one);
    if (entry.symbol != 0) continue;
    if (!insert_) return Result::kAbsent;
    return go(ask(Step::kName, rdma::Opcode::kCompareSwap, entry_offset(), 0, symbol_));
  }
  if (++looked_at_ >= layout_.buckets()) return insert_ ? Result::kFull : Result::kAbsent;
  bucket_ = (bucket_ + 1) & (layout_.buckets() - 1);
  return go(ask_bucket());
}

// The entry that was free is ours, or another symbol's by now, and the search goes on.
HomeIndex::Result HomeIndex::named() noexcept {
  if (answer() != 0) return go(ask_bucket());
  patience_ = 0;
  return with_row(0);
}

HomeIndex::Result HomeIndex::with_row(std::uint64_t row_plus_one) noexcept {
  if (row_plus_one == 0) {
    if (!insert_) return Result::kAbsent;
    // Another writer is about to give it one; a writer that died never does.
    if (patience_ != 0 && patience_-- != 0) return go(ask_bucket());
    return give_row();
  }
  row_ = static_cast<std::uint32_t>(row_plus_one - 1);
  if (row_ >= layout_.shape().rows) return Result::kFailed;
  if (!insert_) return Result::kFound;
  return go(ask(Step::kClaim, rdma::Opcode::kCompareSwap, layout_.claim(venue_, row_), 0,
                writer_.word()));
}

HomeIndex::Result HomeIndex::give_row() noexcept {
  if (spare_row_ == 0)
    return go(ask(Step::kCount, rdma::Opcode::kFetchAdd, HomeLayout::kRowsUsed, 1));
  return go(ask(Step::kRow, rdma::Opcode::kCompareSwap,
                entry_offset() + offsetof(IndexEntry, row_plus_one), 0, spare_row_));
}

bool HomeIndex::is_over(wire::Writer writer) const noexcept {
  return wire::is_over(writer, wire::Lane::of_word(lanes_[writer.lane % link::kLanesMax]));
}

HomeIndex::Result HomeIndex::claimed() noexcept {
  const std::uint64_t found = answer();
  claimed_by_ = wire::Writer::of_word(found);
  if (found == wanted_ || claimed_by_ == writer_) {
    claimed_by_ = writer_;
    return Result::kFound;
  }
  // What we know of the lanes may be older than the claim: nobody is robbed who may be alive.
  if (!is_over(claimed_by_) && claimed_by_.lane != writer_.lane) return Result::kOther;
  return go(ask(Step::kSwap, rdma::Opcode::kCompareSwap, layout_.claim(venue_, row_), found,
                writer_.word()));
}

}  // namespace tickpath::home
