#include "tools/perf/data_link.hpp"

#include <algorithm>
#include <cstring>

#include <sched.h>

#include "common/clock/clock.hpp"
#include "tools/perf/data_link_inline.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr std::uint64_t kStallSeconds = 30;  // an 8 MB message over an emulated device takes one

Opcode opcode_of(PerfOperation operation) {
  switch (operation) {
    case PerfOperation::kWrite:
      return Opcode::kWrite;
    case PerfOperation::kWriteWithImm:
      return Opcode::kWriteWithImm;
    case PerfOperation::kSend:
      return Opcode::kSend;
    case PerfOperation::kRead:
      return Opcode::kRead;
    case PerfOperation::kCompareSwap:
      return Opcode::kCompareSwap;
    case PerfOperation::kFetchAdd:
      return Opcode::kFetchAdd;
    case PerfOperation::kFloor:
    case PerfOperation::kFloorEachWay:
      return Opcode::kWrite;  // never posted
  }
  throw Error("unknown operation " + std::to_string(static_cast<int>(operation)));
}

}  // namespace

// source | landing | receive area
DataLink::DataLink(Device& device, const PerfHello& parameters, FloorLines* floor)
    : parameters_(parameters),
      floor_(floor),
      memory_(device.allocate(3 * std::size_t{parameters.area_bytes},
                              kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic,
                              "perf.data")),
      queue_(device.create_queue(parameters.tx_depth + parameters.rx_depth + 16, nullptr)),
      source_(memory_->data()),
      landing_(memory_->data() + parameters.area_bytes) {
  // All receives share one buffer: nobody looks at what a message says.
  receives_.assign(parameters.rx_depth,
                   {.wr_id = kReceiveMark,
                    .local_address = memory_->data() + 2 * std::size_t{parameters.area_bytes},
                    .length_bytes = parameters.message_bytes_max,
                    .lkey = memory_->lkey()});
  batch_.resize(parameters.tx_depth);
}

QueuePairOptions DataLink::options() const {
  QueuePairOptions options;
  options.send_depth = parameters_.tx_depth;
  options.receive_depth = parameters_.rx_depth;
  options.inline_bytes = parameters_.inline_bytes;
  options.message_bytes_max = parameters_.message_bytes_max;
  // Long messages over a slow or emulated device must not look like a dead peer.
  options.peer_timeout_ms = 4000;
  return options;
}

void DataLink::bind(std::unique_ptr<QueuePair> queue_pair) {
  queue_pair_ = std::move(queue_pair);
  const auto regions = queue_pair_->remote_regions();
  if (regions.empty() || regions[0].length_bytes < 2 * std::uint64_t{parameters_.area_bytes}) {
    throw Error("the other side granted less memory than was agreed on");
  }
}

void DataLink::prepare(const PerfCommand& command) {
  command_ = command;
  if (is_floor(command.operation)) {
    if (floor_ == nullptr) throw Error("the two sides share no memory beside the fabric: no floor");
    floor_->word = floor_->there = floor_->back = 0;
  }
  pace_ = kLatPaces[command.operation == PerfOperation::kFloor ? 0 : command.pace];
  stride_ = (command.size_bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  whole_words_ = command.size_bytes % 8 == 0;
  std::memset(landing_, 0, std::min<std::size_t>(stride_ * command.window, parameters_.area_bytes));
  const RemoteRegion& remote = queue_pair_->remote_regions()[0];
  base_remote_ = remote.address + parameters_.area_bytes;
  request_ = {};
  request_.opcode = opcode_of(command.operation);
  request_.local_address = source_;
  request_.length_bytes = command.size_bytes;
  request_.lkey = memory_->lkey();
  request_.rkey = remote.rkey;
  request_.remote_address = base_remote_;
  const bool outward = command.operation == PerfOperation::kWrite || echoed_by_receive();
  const std::uint32_t inline_most = std::min(command.inline_bytes, queue_pair_->inline_bytes());
  if (outward && command.size_bytes <= inline_most) request_.flags = kInline;
  posted_ = done_ = received_ = reposted_ = 0;
  signal_next_ = std::min(command.signal_every, command.count);
}

// Whichever call meets it first: the peer's end has one text.
void DataLink::throw_if_gone() const {
  if (queue_pair_->state() == QueuePairState::kError)
    throw Error("the other side of the measurement is gone: " + queue_pair_->error_text());
}

void DataLink::refused(PostStatus status, Wait& wait) {
  if (status == PostStatus::kQueueFull) {
    if (reap() == 0) idle(wait);
    return;
  }
  (void)reap();  // a failed completion says more
  throw_if_gone();
  throw Error("posting " + std::string(to_string(request_.opcode)) + " of " +
              std::to_string(request_.length_bytes) + " bytes: " + std::string(to_string(status)) +
              " " + queue_pair_->error_text());
}

void DataLink::failed(const Completion& completion) {
  const std::string why =
      std::string(to_string(completion.status)) + "; " + queue_pair_->error_text();
  if (completion.status == CompletionStatus::kFlushed ||
      completion.status == CompletionStatus::kRetryExceeded) {
    throw Error("the other side of the measurement is gone: " + why);
  }
  throw Error(std::string(to_string(request_.opcode)) + " of " +
              std::to_string(request_.length_bytes) + " bytes: " + why);
}

void DataLink::repost_receive() {
  const PostStatus status = queue_pair_->post_receive(receives_[0]);
  if (status != PostStatus::kOk) {
    throw_if_gone();
    throw Error("posting a receive: " + std::string(to_string(status)) + " " +
                queue_pair_->error_text());
  }
  ++reposted_;
}

void DataLink::check(Wait& wait) {
  if (queue_pair_->state() == QueuePairState::kError) {
    (void)reap();
    throw_if_gone();
  }
  const std::uint64_t now = tsc_now().value;
  if (wait.since_tsc == 0) wait.since_tsc = now;
  if (now - wait.since_tsc > kStallSeconds * clock::tsc_hz()) {
    throw Error("nothing moved for " + std::to_string(kStallSeconds) +
                " s; the other side hangs, or the message was lost");
  }
  ::sched_yield();
}

// Everything posted is complete, every receive is posted again: the next run finds full queues.
void DataLink::finish() {
  Wait wait;
  while (done_ != posted_) {
    if (reap() == 0) idle(wait);
  }
  repost_receives();
}

// How many were posted of `count` more, in one doorbell.
std::uint32_t DataLink::post_batch(std::uint64_t sent, std::uint32_t count, std::uint32_t total) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t number = sent + i + 1;
    const bool signal = number % command_.signal_every == 0 || number == total;
    batch_[i].wr_id = number;
    batch_[i].flags = static_cast<std::uint8_t>(request_.flags | (signal ? kSignaled : 0));
  }
  std::size_t accepted = 0;
  PostStatus status = PostStatus::kOk;
  if (count == 1) {
    status = queue_pair_->post_send(batch_[0]);
    accepted = status == PostStatus::kOk ? 1 : 0;
  } else {
    status = queue_pair_->post_send(std::span(batch_).first(count), &accepted);
  }
  if (status != PostStatus::kOk && status != PostStatus::kQueueFull) {
    Wait wait;
    refused(status, wait);
  }
  return static_cast<std::uint32_t>(accepted);
}

PerfRates DataLink::run_bandwidth(std::uint32_t sends, std::uint32_t receives) {
  std::fill(batch_.begin(), batch_.end(), request_);
  const std::uint64_t stretch = std::max<std::uint64_t>(command_.tx_depth, sends / 1000);
  PerfRates rates;
  Wait wait;
  std::uint64_t start = tsc_now().value;
  std::uint64_t mark_tsc = start;
  std::uint64_t mark_done = 0;
  while (done_ < sends || received_ < receives) {
    const auto left = static_cast<std::uint32_t>(sends - posted_);
    const auto free = static_cast<std::uint32_t>(command_.tx_depth - (posted_ - done_));
    const std::uint32_t burst = std::min({command_.batch, left, free});
    const std::uint32_t accepted = burst == 0 ? 0 : post_batch(posted_, burst, sends);
    posted_ += accepted;
    // While there is room, post: completions are looked at when there is none, as perftest does.
    if (accepted != 0 && receives == 0 && posted_ < sends && posted_ - done_ < command_.tx_depth) {
      continue;
    }
    const bool first = received_ == 0;
    const std::size_t reaped = reap();
    repost_receives();
    if (sends == 0 && first && received_ != 0) start = tsc_now().value;
    if (reaped == 0 && accepted == 0) {
      idle(wait);
      continue;
    }
    wait = {};
    if (done_ - mark_done < stretch) continue;
    const std::uint64_t now = tsc_now().value;
    const double bytes = static_cast<double>((done_ - mark_done) * command_.size_bytes);
    if (now > mark_tsc) {
      rates.peak_bytes_per_tick =
          std::max(rates.peak_bytes_per_tick, bytes / static_cast<double>(now - mark_tsc));
    }
    mark_tsc = now;
    mark_done = done_;
  }
  rates.elapsed_ticks = std::max<std::uint64_t>(tsc_now().value - start, 1);
  return rates;
}

}  // namespace tickpath::rdma::perf
