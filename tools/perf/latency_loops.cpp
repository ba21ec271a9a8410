// The loops of a latency run. WRITE, WRITE_WITH_IMM and SEND are echoed by the server; READ and the
// atomics need no peer, and count from posting to completion.
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
  const bool signal = number % command_.signal_every == 0 || number == command_.count;
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
  if (signal && command_.operation == PerfOperation::kWrite) (void)reap();
}

template <class Arrived>
void DataLink::run_closed(std::vector<std::uint64_t>& samples, Arrived&& arrived) {
  std::uint64_t before = tsc_now().value;
  for (std::uint64_t i = 0; i < command_.count; ++i) {
    post(i);
    repost_receives();
    for (Wait wait; !arrived(i);) idle(wait);
    const std::uint64_t now = tsc_now().value;
    samples.push_back(now - before);
    before = now;
  }
}

// Open loop: a stall does not hold back the schedule, and shows in every message that it delayed.
template <class Arrived>
void DataLink::run_scheduled(double interval_ticks, std::vector<std::uint64_t>& samples,
                             Arrived&& arrived) {
  const std::uint64_t start = tsc_now().value;
  const auto due = [&](std::uint64_t message) {
    return start + static_cast<std::uint64_t>(static_cast<double>(message) * interval_ticks);
  };
  Wait wait;
  for (std::uint64_t seen = 0; seen < command_.count;) {
    const bool room = posted_ < command_.count && posted_ - seen < command_.window;
    const bool post_now = room && tsc_now().value >= due(posted_);
    if (post_now) post(posted_);
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

template <class Arrived>
void DataLink::run_echo(Arrived&& arrived) {
  for (std::uint64_t i = 0; i < command_.count; ++i) {
    for (Wait wait; !arrived(i);) idle(wait);
    post(i);
    repost_receives();
  }
}

void DataLink::run_latency_client(double interval_ticks, std::vector<std::uint64_t>& samples) {
  const auto run = [&](auto&& arrived) {
    if (interval_ticks > 0) {
      run_scheduled(interval_ticks, samples, arrived);
    } else {
      run_closed(samples, arrived);
    }
  };
  if (command_.operation == PerfOperation::kWrite) {
    run([this](std::uint64_t message) { return landed(message); });
  } else if (echoed_by_receive()) {
    run([this](std::uint64_t message) {
      if (received_ <= message) (void)reap();
      return received_ > message;
    });
  } else {
    run([this](std::uint64_t message) {
      if (done_ <= message) (void)reap();
      return done_ > message;
    });
  }
  finish();
}

void DataLink::run_latency_server() {
  if (command_.operation == PerfOperation::kWrite) {
    run_echo([this](std::uint64_t message) { return landed(message); });
  } else if (echoed_by_receive()) {
    run_echo([this](std::uint64_t message) {
      if (received_ <= message) (void)reap();
      return received_ > message;
    });
  }
  finish();
}

}  // namespace tickpath::rdma::perf
