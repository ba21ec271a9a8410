// The lanes of a book home: ours, which we keep alive, and the others, which we watch.
//
// Each writer raises the beats in its lane's word by COMPARE_SWAP, and READs all words. A word that
// stands still for dead_after is ended by whoever finds it first, the same way: its epoch is over,
// and everything that bears it no longer counts. A writer whose own word was ended (it hung, or
// could not reach the home) learns it from its next beat, and begins another epoch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/counter.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/link/heartbeat.hpp"
#include "common/stores/home/layout.hpp"

namespace tickpath::home {

struct LeaseCounters {
  TICKPATH_COUNTERS(begun,    // epochs of our own
                    ended,    // of ours, by others
                    others);  // of others, by us
};

// Polling thread of the connection, but for construction and end_lane().
class HomeLease final : public link::OneSidedClient {
 public:
  HomeLease(rdma::Device& device, const link::HeartbeatOptions& options, const std::string& name)
      : OneSidedClient(device, 2 * kCacheLineBytes, name),
        options_(options),
        scores_(kAll(options)) {}

  void attach(link::Connection& connection, const HomeRegions& regions,
              std::uint32_t lanes) noexcept;
  void detach() noexcept;

  // Each turn, after polling the connection. now_ns: monotonic.
  void step(std::uint64_t now_ns) noexcept;
  // This writer in its epoch; nobody before the first epoch, and while one was ended.
  wire::Writer self() const noexcept { return self_; }
  bool failed() const noexcept { return failed_; }
  // All words as READ last; changes() counts the epochs seen to begin or end.
  std::span<const std::uint64_t> words() const noexcept { return words_; }
  std::uint64_t changes() const noexcept { return changes_; }
  bool alive(wire::Writer writer) const noexcept { return is_alive(writer, lane_of(writer)); }
  bool over(wire::Writer writer) const noexcept { return is_over(writer, lane_of(writer)); }

  // Any thread: this lane's writer is known to be gone; its epoch is ended by one of the next
  // turns.
  void end_lane(std::uint32_t lane) noexcept {
    // Relaxed: the bit is all there is to tell.
    to_end_.fetch_or(1u << lane, std::memory_order_relaxed);
  }
  const LeaseCounters& counters() const noexcept { return counters_; }

 private:
  enum class Asked : std::uint8_t { kNothing, kWords, kBeat, kEnd };
  using Scores = std::array<link::LivenessScore, link::kLanesMax>;

  static Scores kAll(const link::HeartbeatOptions& o) {
    return {link::LivenessScore(o), link::LivenessScore(o), link::LivenessScore(o),
            link::LivenessScore(o), link::LivenessScore(o), link::LivenessScore(o),
            link::LivenessScore(o), link::LivenessScore(o)};
  }
  void on_answer(bool success) noexcept override { (success ? arrived_ : failed_) = true; }
  wire::Lane lane_of(wire::Writer writer) const noexcept {
    return wire::Lane::of_word(words_[writer.lane % link::kLanesMax]);
  }
  bool ask(Asked what, rdma::Opcode opcode, std::uint32_t lane, std::uint64_t expected,
           std::uint64_t desired) noexcept;
  void take_words(std::uint64_t now_ns) noexcept;
  void take_beat() noexcept;
  void see(std::uint32_t lane, std::uint64_t word) noexcept;
  bool end_one() noexcept;

  link::HeartbeatOptions options_;
  Scores scores_;
  rdma::RemoteRegion remote_;
  std::uint32_t lanes_ = 0;
  std::uint32_t own_ = 0;
  wire::Writer self_;
  std::array<std::uint64_t, link::kLanesMax> words_{};
  std::atomic<std::uint32_t> to_end_{0};
  std::uint32_t dead_ = 0;  // lanes to end, by their silence
  std::uint64_t changes_ = 0;
  Asked asked_ = Asked::kNothing;
  std::uint32_t asked_lane_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t desired_ = 0;
  std::uint64_t asked_ns_ = 0;
  std::uint64_t next_beat_ns_ = 0;
  std::uint64_t next_read_ns_ = 0;
  bool known_ = false;  // the words were READ on this connection
  bool arrived_ = false;
  bool failed_ = false;
  LeaseCounters counters_;
};

}  // namespace tickpath::home
