#include "sim/replay/recording_loader.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "common/base/cpu.hpp"
#include "common/feeds/recordings/deep_recording.hpp"

namespace tickpath::sim {

std::unique_ptr<itch::RecordingReader> open_feed_recording(const RecordingOptions& options) {
  if (options.protocol == feeds::FeedProtocol::kIexDeep10)
    return std::make_unique<iex::DeepRecording>(options.path);
  return itch::open_recording(options.path, {.stock = options.stock});
}

ReplayPlan plan_replay(const RecordingOptions& options) {
  const auto reader = open_feed_recording(options);
  ReplayPlan plan;
  if (reader->file_bytes_total() > kPlannedBytesMax) return plan;
  Pace pace(options.pace);
  itch::RecordedMessage message;
  while (reader->next(message) == itch::ReadStatus::kMessage &&
         !pace.past_end(message.timestamp_ns)) {
    plan.duration_ns = pace.due(message.timestamp_ns, message.begins_day);
    if (plan.messages++ % ReplayPlan::kMarkMessages == 0)
      plan.marks.push_back({message.timestamp_ns, plan.duration_ns});
  }
  return plan;
}

std::uint64_t ReplayPlan::messages_before(std::uint64_t timestamp_ns) const noexcept {
  const auto behind = std::ranges::upper_bound(marks, timestamp_ns, {}, &Mark::timestamp_ns);
  return behind == marks.begin()
             ? 0
             : static_cast<std::uint64_t>(behind - marks.begin() - 1) * kMarkMessages;
}

std::uint64_t ReplayPlan::remaining_ns(std::uint64_t timestamp_ns) const noexcept {
  if (marks.empty()) return 0;
  return duration_ns - marks[messages_before(timestamp_ns) / kMarkMessages].due_ns;
}

RecordingLoader::RecordingLoader(const RecordingOptions& options, MessageQueue& queue)
    : queue_(queue),
      pace_(options.pace),
      reader_(open_feed_recording(options)),
      bytes_total_(reader_->file_bytes_total()) {}

RecordingLoader::~RecordingLoader() { end(); }

void RecordingLoader::end() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
}

void RecordingLoader::start(std::function<void(const Names&)> named) {
  named_ = std::move(named);
  thread_ = std::thread([this] { run(); });
}

void RecordingLoader::run() noexcept {
  name_this_thread("recording");
  try {
    read_all();
  } catch (const std::exception& error) {
    // Memory ran out, or a disk failed: the replay ends with what there is, and says so.
    damage_ = error.what();
  }
  // Pairs with the acquire in done(): without it damage_ could be read half written.
  done_.store(true, std::memory_order_release);
  (void)wait_until([this] { return queue_.finish(); });
}

// Sleeps while the queue is full: the replay drains a block in milliseconds at the fastest, and 64
// of them hold more than any sleep lasts. False when asked to stop.
bool RecordingLoader::wait_until(const std::function<bool()>& succeeded) const {
  while (!succeeded()) {
    if (stop_.load()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void RecordingLoader::read_all() {
  itch::RecordedMessage message;
  for (;;) {
    const itch::ReadStatus status = reader_->next(message);
    bytes_read_.set(reader_->file_bytes_read());
    if (status == itch::ReadStatus::kDamaged) damage_ = reader_->damage();
    if (status != itch::ReadStatus::kMessage || pace_.past_end(message.timestamp_ns)) break;
    tell_names(!message.bytes.empty() && message.bytes[0] == std::byte{'R'});
    if (!wait_until(
            [&] { return queue_.push(message.bytes, message.timestamp_ns, message.begins_day); }))
      return;
    digest_.take(message.bytes);
    messages_.add();
  }
  tell_names(false);
  remarks_ = reader_->remarks();
}

// Listings come many at once: what they name is looked at behind the last of them.
void RecordingLoader::tell_names(bool lists) {
  if (lists) listed_ = true;
  if (lists || !listed_ || !named_) return;
  listed_ = false;
  const Names names = reader_->names();
  if (names.size() == names_told_) return;
  names_told_ = names.size();
  named_(names);
}

}  // namespace tickpath::sim
