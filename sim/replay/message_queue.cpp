#include "sim/replay/message_queue.hpp"

namespace tickpath::sim {

MessageQueue::MessageQueue(std::size_t blocks)
    : blocks_(std::make_unique<Block[]>(blocks)), full_(blocks), free_(blocks) {
  for (std::uint32_t i = 0; i < blocks; ++i)
    TICKPATH_CHECK(free_.try_push(i), "the free ring holds every block");
}

bool MessageQueue::open_block() noexcept {
  if (filling_ != kNoBlock) return true;
  if (!free_.try_pop(filling_)) return false;
  blocks_[filling_].used = 0;
  blocks_[filling_].last = 0;
  return true;
}

bool MessageQueue::hand_over() noexcept {
  // Cannot fail: the ring has room for every block there is.
  TICKPATH_CHECK(full_.try_push(filling_), "the full ring holds every block");
  filling_ = kNoBlock;
  return true;
}

bool MessageQueue::push(std::span<const std::byte> message, std::uint64_t timestamp_ns,
                        bool begins_day) noexcept {
  const auto bytes = static_cast<std::uint32_t>(message.size());
  const std::uint32_t needed = static_cast<std::uint32_t>(sizeof(Entry)) + padded(bytes);
  TICKPATH_CHECK(needed <= kBlockBytes, "a message fits a block");
  if (!open_block()) return false;
  if (blocks_[filling_].used + needed > kBlockBytes && (!hand_over() || !open_block()))
    return false;
  Block& block = blocks_[filling_];
  const Entry entry{timestamp_ns, bytes, begins_day};
  std::memcpy(block.bytes + block.used, &entry, sizeof entry);
  if (bytes != 0) std::memcpy(block.bytes + block.used + sizeof entry, message.data(), bytes);
  block.used += needed;
  return true;
}

bool MessageQueue::finish() noexcept {
  if (!open_block()) return false;
  blocks_[filling_].last = 1;
  return hand_over();
}

// Gives back the block that was drained, and opens the next one.
MessageQueue::Status MessageQueue::open_next() noexcept {
  while (at_ == end_) {
    if (draining_ != kNoBlock) {
      ended_ = blocks_[draining_].last != 0;
      TICKPATH_CHECK(free_.try_push(draining_), "the free ring holds every block");
      draining_ = kNoBlock;
      at_ = end_ = nullptr;
    }
    if (ended_) return Status::kEnd;
    if (!full_.try_pop(draining_)) return Status::kEmpty;
    at_ = blocks_[draining_].bytes;
    end_ = at_ + blocks_[draining_].used;
  }
  return Status::kMessage;
}

}  // namespace tickpath::sim
