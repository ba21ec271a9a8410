// The loops of a latency run. WRITE, WRITE_WITH_IMM and SEND are echoed by the server; READ and the
// atomics need no peer, and count from posting to completion. Beside the floor these are echoed,
// too: each side stores a record of its own and READs the other's until it changes, or polls the
// word that the other's atomics change.
#include <algorithm>

#include "tools/perf/data_link_inline.hpp"

namespace tickpath::rdma::perf {

// The run's message of this number; signalled now and then, and at the end.
inline void DataLink::post(std::uint64_t message) {
  const std::uint64_t number = message + 1;
  if (command_.window != 1) {
    const std::size_t place = place_of(message);
    request_.local_address = source_ + place;
    request_.remote_address = base_remote_ + place;
  }
  if (command_.operation == PerfOperation::kWrite) stamp(message);
  const bool signal = number == signal_next_;
  if (signal)
    signal_next_ = std::min<std::uint64_t>(number + command_.signal_every, command_.count);
  request_.wr_id = number;
  request_.imm_data = static_cast<std::uint32_t>(number);
  // COMPARE_SWAP always swaps: its word holds what the last one there left.
  const std::uint64_t last = message < command_.window ? 0 : number - command_.window;
  request_.compare_add = request_.opcode == Opcode::kFetchAdd ? 1 : last;
  request_.swap = number;
  request_.flags =
      static_cast<std::uint8_t>(signal ? request_.flags | kSignaled : request_.flags & ~kSignaled);
  PostStatus status = queue_pair_->post_send(request_);
  for (Wait wait; status != PostStatus::kOk; status = queue_pair_->post_send(request_)) {
    refused(status, wait);
  }
  posted_ = number;
  if (signal && polls_memory()) (void)reap<2>();
}

// A record of our own that the peer READs: its last word last.
inline void DataLink::store_record(std::uint64_t message) noexcept {
  const std::uint64_t value = stamp_of(message);
  const std::uint32_t last = command_.size_bytes - 8;
  for (std::uint32_t at = 0; at < last; at += 8) std::memcpy(landing_ + at, &value, 8);
  store_for_peer(*reinterpret_cast<std::uint64_t*>(landing_ + last), value);
}

// A READ of the peer's record, whole: does it show this message?
inline bool DataLink::read_shows(std::uint64_t message) {
  request_.wr_id = ++posted_;
  request_.flags = kSignaled;
  const PostStatus status = queue_pair_->post_send(request_);
  if (Wait wait; status != PostStatus::kOk) refused(status, wait);
  while (done_ != posted_) (void)reap<2>();
  std::uint64_t seen = 0;
  std::memcpy(&seen, source_ + command_.size_bytes - 8, sizeof(seen));
  return seen == stamp_of(message);
}

template <class Send, class Arrived>
void DataLink::run_closed(std::vector<std::uint64_t>& samples, Send&& send, Arrived&& arrived) {
  std::uint64_t before = tsc_now().value;
  for (std::uint64_t i = 0; i < command_.count; ++i) {
    send(i);
    repost_receives();
    await(i, arrived);
    const std::uint64_t now = tsc_now().value;
    samples.push_back(now - before);
    before = now;
  }
}

// Open loop: a stall does not hold back the schedule, and shows in every message that it delayed.
template <class Send, class Arrived>
void DataLink::run_scheduled(double interval_ticks, std::vector<std::uint64_t>& samples,
                             Send&& send, Arrived&& arrived) {
  const std::uint64_t start = tsc_now().value;
  const auto due = [&](std::uint64_t message) {
    return start + static_cast<std::uint64_t>(static_cast<double>(message) * interval_ticks);
  };
  Wait wait;
  for (std::uint64_t seen = 0; seen < command_.count;) {
    const bool room = posted_ < command_.count && posted_ - seen < command_.window;
    const bool post_now = room && tsc_now().value >= due(posted_);
    if (post_now) send(posted_);
    if (seen < posted_ && arrived(seen)) {
      // Not before the look that saw it.
      samples.push_back(tsc_now().value - due(seen));
      ++seen;
      repost_receives();
      wait = {};
    } else if (!post_now && seen < posted_) {
      idle(wait);
    } else if (!post_now) {
      wait = {};
      cpu_relax();
    }
  }
}

template <class Send, class Arrived>
void DataLink::run_echo(Send&& send, Arrived&& arrived) {
  for (std::uint64_t i = 0; i < command_.count; ++i) {
    await(i, arrived);
    send(i);
    repost_receives();
  }
}

// Calls run(send, arrived) with what sends the message of a number, and what tells whether the
// other side's has come (or ours has completed).
template <class Run>
void DataLink::by_operation(bool client, Run&& run) {
  const auto post_it = [this](std::uint64_t message) { post(message); };
  // Acquire and release: each side's store of a floor's word with the other's load of it.
  if (command_.operation == PerfOperation::kFloor) {
    std::atomic<std::uint64_t>& word = floor_->word;
    run([&](std::uint64_t i) { word.store(2 * i + (client ? 1 : 2), std::memory_order_release); },
        [&](std::uint64_t i) {
          return word.load(std::memory_order_acquire) == 2 * i + (client ? 2 : 1);
        });
  } else if (command_.operation == PerfOperation::kFloorEachWay) {
    std::atomic<std::uint64_t>& ours = client ? floor_->there : floor_->back;
    std::atomic<std::uint64_t>& theirs = client ? floor_->back : floor_->there;
    run([&](std::uint64_t i) { ours.store(i + 1, std::memory_order_release); },
        [&](std::uint64_t i) { return theirs.load(std::memory_order_acquire) == i + 1; });
  } else if (ping_pong() && command_.operation == PerfOperation::kRead) {
    run([this](std::uint64_t message) { store_record(message); },
        [this](std::uint64_t message) { return read_shows(message); });
  } else if (polls_memory()) {
    run(post_it, [this](std::uint64_t message) { return landed(message); });
  } else if (echoed_by_receive()) {
    run(post_it, [this](std::uint64_t message) {
      if (received_ <= message) (void)reap<2>();
      return received_ > message;
    });
  } else if (client) {
    run(post_it, [this](std::uint64_t message) {
      if (done_ <= message) (void)reap<2>();
      return done_ > message;
    });
  }
  finish();
}

void DataLink::run_latency_client(double interval_ticks, std::vector<std::uint64_t>& samples) {
  by_operation(true, [&](auto&& send, auto&& arrived) {
    if (interval_ticks > 0) {
      run_scheduled(interval_ticks, samples, send, arrived);
    } else {
      run_closed(samples, send, arrived);
    }
  });
}

void DataLink::run_latency_server() {
  by_operation(false, [this](auto&& send, auto&& arrived) { run_echo(send, arrived); });
}

}  // namespace tickpath::rdma::perf
