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

bool MessageQueue::push(std::span<const std::byte> message, std::uint64_t timestamp_ns) noexcept {
  const auto bytes = static_cast<std::uint32_t>(message.size());
  const std::uint32_t needed = static_cast<std::uint32_t>(sizeof(Entry)) + padded(bytes);
  TICKPATH_CHECK(needed <= kBlockBytes, "a message fits a block");
  if (!open_block()) return false;
  if (blocks_[filling_].used + needed > kBlockBytes && (!hand_over() || !open_block()))
    return false;
  Block& block = blocks_[filling_];
  const Entry entry{timestamp_ns, bytes, 0};
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

MessageQueue::Status MessageQueue::front(QueuedMessage& message) noexcept {
  for (;;) {
    if (ended_) return Status::kEnd;
    if (draining_ == kNoBlock && !full_.try_pop(draining_)) return Status::kEmpty;
    const Block& block = blocks_[draining_];
    if (position_ < block.used) {
      Entry entry;
      std::memcpy(&entry, block.bytes + position_, sizeof entry);
      message.bytes = {block.bytes + position_ + sizeof entry, entry.bytes};
      message.timestamp_ns = entry.timestamp_ns;
      return Status::kMessage;
    }
    ended_ = block.last != 0;
    TICKPATH_CHECK(free_.try_push(draining_), "the free ring holds every block");
    draining_ = kNoBlock;
    position_ = 0;
  }
}

void MessageQueue::pop() noexcept {
  Entry entry;
  std::memcpy(&entry, blocks_[draining_].bytes + position_, sizeof entry);
  position_ += static_cast<std::uint32_t>(sizeof entry) + padded(entry.bytes);
}

}  // namespace tickpath::sim
