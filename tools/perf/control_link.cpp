#include "tools/perf/control_link.hpp"

#include <array>
#include <thread>

namespace tickpath::rdma::perf {
namespace {

constexpr std::uint64_t kSendMark = std::uint64_t{1}
                                    << 63;  // wr_ids of sends, with their number below
constexpr auto kSendLimit = std::chrono::seconds(60);
constexpr auto kNap = std::chrono::microseconds(50);

}  // namespace

ControlLink::ControlLink(Device& device)
    : memory_(device.allocate((kReceives + 1) * kMessageBytes, kLocalWrite, "perf.control")),
      queue_(device.create_queue(2 * kReceives, nullptr)) {
  for (std::size_t i = 0; i < kReceives; ++i) {
    receives_.push_back({.wr_id = i,
                         .local_address = memory_->data() + (i + 1) * kMessageBytes,
                         .length_bytes = kMessageBytes,
                         .lkey = memory_->lkey()});
  }
}

QueuePairOptions ControlLink::options() const {
  QueuePairOptions options;
  options.send_depth = kReceives;
  options.receive_depth = kReceives;
  options.message_bytes_max = kMessageBytes;
  return options;
}

void ControlLink::poll() {
  std::array<Completion, 4> completions;
  const std::size_t count = queue_->poll(completions);
  for (std::size_t i = 0; i < count; ++i) {
    const Completion& completion = completions[i];
    if (completion.status != CompletionStatus::kSuccess) {
      failed_ = true;  // not thrown here: a message may lie before it in the queue
    } else if ((completion.wr_id & kSendMark) != 0) {
      sends_done_ = completion.wr_id & ~kSendMark;
    } else {
      arrived_.push_back(completion);
    }
  }
}

void ControlLink::check_alive() const {
  if (failed_)
    throw Error("the other side of the measurement is gone: " + queue_pair_->error_text());
}

void ControlLink::await_departure(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (poll(); !failed_ && std::chrono::steady_clock::now() < end; poll()) {
    std::this_thread::sleep_for(kNap);
  }
}

void ControlLink::await_more(std::chrono::steady_clock::time_point end, const char* what) {
  if (std::chrono::steady_clock::now() >= end) throw Error(std::string("no answer: ") + what);
  std::this_thread::sleep_for(kNap);
}

void ControlLink::send_bytes(std::span<const std::byte> bytes) {
  std::memcpy(memory_->data(), bytes.data(), bytes.size());
  WorkRequest request;
  request.wr_id = kSendMark | (sends_ + 1);
  request.opcode = Opcode::kSend;
  request.flags = kSignaled;
  request.local_address = memory_->data();
  request.length_bytes = static_cast<std::uint32_t>(bytes.size());
  request.lkey = memory_->lkey();
  const PostStatus status = queue_pair_->post_send(request);
  failed_ = failed_ || status != PostStatus::kOk;
  check_alive();
  ++sends_;
  const auto end = std::chrono::steady_clock::now() + kSendLimit;
  for (poll(); sends_done_ != sends_; poll()) {
    // The two take turns: what came after our message is its answer, so the peer has it, whatever
    // becomes of the device's own acknowledgement.
    if (!arrived_.empty()) return;
    check_alive();
    await_more(end, "a control message was not taken");
  }
}

bool ControlLink::try_receive_bytes(std::span<std::byte> bytes) {
  if (arrived_.empty()) poll();
  if (arrived_.empty()) {
    check_alive();
    return false;
  }
  const Completion completion = arrived_.front();
  arrived_.erase(arrived_.begin());
  const ReceiveRequest& receive = receives_.at(completion.wr_id);
  if (completion.byte_length != bytes.size()) {
    throw Error("a control message of " + std::to_string(completion.byte_length) +
                " bytes came where " + std::to_string(bytes.size()) + " were expected");
  }
  std::memcpy(bytes.data(), receive.local_address, bytes.size());
  if (queue_pair_->post_receive(receive) != PostStatus::kOk &&
      queue_pair_->state() != QueuePairState::kError) {
    throw Error("a control receive could not be posted again");
  }
  return true;
}

}  // namespace tickpath::rdma::perf
