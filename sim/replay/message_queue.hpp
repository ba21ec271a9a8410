// From the thread that reads the recording to the datapath thread that replays it: files are read,
// unpacked and converted elsewhere, the datapath finds messages in memory. And from the datapath
// thread to the one that keeps snapshots.
//
// Messages travel in blocks, so that the threads meet once for thousands of messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "common/base/spsc_ring.hpp"

namespace tickpath::sim {

struct QueuedMessage {
  std::span<const std::byte> bytes;
  std::uint64_t timestamp_ns = 0;
  bool begins_day = false;  // as itch::RecordedMessage's
};

class MessageQueue {
 public:
  enum class Status : std::uint8_t {
    kMessage,
    kEmpty,  // the reading thread has not come so far
    kEnd,    // there will be no more
  };

  // A block holds the longest message that BinaryFILE can frame (65,535 bytes) and much more.
  static constexpr std::size_t kBlockBytes = 256 * 1024;

  // blocks: a power of two, 2 or more; 256 KiB each.
  explicit MessageQueue(std::size_t blocks);

  // ------------------------------------------------------------------ reading thread
  // False when every block is full: try again later.
  [[nodiscard]] bool push(std::span<const std::byte> message, std::uint64_t timestamp_ns,
                          bool begins_day = false) noexcept;
  // Hands over what is there, though the block has room for more.
  void flush() noexcept {
    if (filling_ != kNoBlock && blocks_[filling_].used != 0) hand_over();
  }
  // Marks the end and hands over what is left. False: try again later.
  [[nodiscard]] bool finish() noexcept;

  // ------------------------------------------------------------------ datapath thread
  // The next message; its bytes stay until pop().
  Status front(QueuedMessage& message) noexcept {
    if (at_ == end_) [[unlikely]]
      if (const Status status = open_next(); status != Status::kMessage) return status;
    Entry entry;
    std::memcpy(&entry, at_, sizeof entry);
    // Another core wrote it: asked for ahead, it is here when it is its turn.
    __builtin_prefetch(at_ + kPrefetchBytes);
    message.bytes = {at_ + sizeof entry, entry.bytes};
    message.timestamp_ns = entry.timestamp_ns;
    message.begins_day = entry.begins_day != 0;
    behind_ = at_ + sizeof entry + padded(entry.bytes);
    return Status::kMessage;
  }
  // The message that front() told last.
  void pop() noexcept { at_ = behind_; }

 private:
  struct Entry {
    std::uint64_t timestamp_ns;
    std::uint32_t bytes;
    std::uint32_t begins_day;
  };
  struct Block {
    std::uint32_t used = 0;
    std::uint32_t last = 0;  // 1: nothing follows
    alignas(8) std::byte bytes[kBlockBytes];
  };
  static constexpr std::uint32_t kNoBlock = 0xffff'ffff;
  static constexpr std::size_t kPrefetchBytes = 1'024;
  static std::uint32_t padded(std::uint32_t bytes) noexcept { return (bytes + 7) & ~7u; }
  bool open_block() noexcept;
  bool hand_over() noexcept;
  Status open_next() noexcept;

  std::unique_ptr<Block[]> blocks_;
  SpscRing<std::uint32_t> full_;
  SpscRing<std::uint32_t> free_;
  std::uint32_t filling_ = kNoBlock;  // reading thread
  // Datapath thread.
  std::uint32_t draining_ = kNoBlock;
  const std::byte* at_ = nullptr;      // in the block that is drained: the next message
  const std::byte* behind_ = nullptr;  // the one after it
  const std::byte* end_ = nullptr;
  bool ended_ = false;
};

}  // namespace tickpath::sim
