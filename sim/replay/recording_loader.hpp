// The thread that reads a recording into a MessageQueue, ahead of the replay.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/counter.hpp"
#include "common/feeds/live/live_format.hpp"
#include "common/feeds/recordings/message_digest.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "sim/replay/message_queue.hpp"
#include "sim/replay/pace.hpp"

namespace tickpath::sim {

struct RecordingOptions {
  std::filesystem::path path;
  std::string stock;  // LOBSTER: symbol in place of the one in the file name
  PaceOptions pace;   // for the plan
  feeds::FeedProtocol protocol = feeds::FeedProtocol::kItch50;
};

// A recording of what the feed speaks. Throws itch::RecordingError.
std::unique_ptr<itch::RecordingReader> open_feed_recording(const RecordingOptions& options);

// What a replay will come to, found by reading the file once before. Recordings above
// kPlannedBytesMax are not read twice: messages is 0, progress then follows the file position.
struct ReplayPlan {
  std::uint64_t messages = 0;
  std::uint64_t duration_ns = 0;  // from start to the last message, as scheduled
  // Every kMarkMessages-th message: when it was recorded, and when it is due.
  struct Mark {
    std::uint64_t timestamp_ns, due_ns;
  };
  static constexpr std::uint64_t kMarkMessages = 256;
  std::vector<Mark> marks;

  // From the last mark recorded at `timestamp_ns` or before to the end, at the recorded pace.
  std::uint64_t remaining_ns(std::uint64_t timestamp_ns) const noexcept;
  std::uint64_t messages_before(std::uint64_t timestamp_ns) const noexcept;  // likewise
};
inline constexpr std::uint64_t kPlannedBytesMax = 64 << 20;

// Throws itch::RecordingError.
ReplayPlan plan_replay(const RecordingOptions& options);

class RecordingLoader {
 public:
  // Opens the recording; throws itch::RecordingError. Nothing is read before start().
  RecordingLoader(const RecordingOptions& options, MessageQueue& queue);
  ~RecordingLoader();

  // Symbols and the names that they stand for (itch::RecordingReader::names()).
  using Names = std::vector<std::pair<std::string, std::string>>;

  // Control thread, once. named: called by the thread that reads, with all names so far, before the
  // first message behind listings that brought new ones; must not throw.
  void start(std::function<void(const Names&)> named = {});

  // Control thread: nothing is read any more from here on.
  void end();
  // After end() or done(): of the messages_read().
  std::uint64_t digest() const noexcept { return digest_.value(); }

  // Any thread.
  std::uint64_t messages_read() const noexcept { return messages_.get(); }
  std::uint64_t file_bytes_read() const noexcept { return bytes_read_.get(); }
  std::uint64_t file_bytes_total() const noexcept { return bytes_total_; }
  // Pairs with the release in run(): whoever sees true may read damage() and remarks().
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  bool damaged() const noexcept { return done() && !damage_.empty(); }
  // After done(): one line each, empty when there is nothing to say.
  const std::string& damage() const noexcept { return damage_; }
  const std::string& remarks() const noexcept { return remarks_; }

 private:
  void run() noexcept;
  void read_all();
  void tell_names(bool lists);
  bool wait_until(const std::function<bool()>& succeeded) const;

  MessageQueue& queue_;
  Pace pace_;
  std::unique_ptr<itch::RecordingReader> reader_;
  std::uint64_t bytes_total_ = 0;
  Counter messages_;
  Counter bytes_read_;
  itch::MessageDigest digest_;  // of the reading thread
  std::string damage_;
  std::string remarks_;
  std::function<void(const Names&)> named_;
  std::size_t names_told_ = 0;
  bool listed_ = false;  // since names were last looked at
  std::atomic<bool> stop_{false};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace tickpath::sim
