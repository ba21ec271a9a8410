#include "common/rdma/shm/datagram_publication.hpp"

#include <algorithm>
#include <array>

#include "common/rdma/shm/setup.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::uint64_t kNewcomersId = 0;
constexpr std::uint64_t kWantedId = 1;
constexpr std::uint64_t kFirstReceiverId = 2;

}  // namespace

DatagramPublication::DatagramPublication(const DatagramAddress& source,
                                         const std::array<std::byte, 16>& destination,
                                         const DatagramRingLayout& layout, const Barriers& barriers)
    : ring_(create_memory(layout.size_bytes(), false, "datagrams")),
      wake_memory_(create_memory(sizeof(WakePage), true, "datagrams.wake")),
      source_(source),
      destination_(destination),
      layout_(layout),
      barriers_(barriers),
      next_id_(kFirstReceiverId) {
  writer_.bind(ring_.mapping.data(), layout);
  // Where receivers cannot run a barrier on our cores we fence from the start.
  wake_page().any.state = barriers.across_processes ? kNeverParks : kMayPark;
  events_.add(wanted_.descriptor(), kWantedId);
}

void DatagramPublication::listen_on(UniqueFd listening) {
  listening_ = Acceptor(std::move(listening));
  events_.add(listening_.descriptor(), kNewcomersId);
}

void DatagramPublication::offer_to(UniqueFd receiver) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = next_id_;
  add(std::move(receiver));
  offer(receivers_.at(id), true);  // it has not said yet
}

void DatagramPublication::add(UniqueFd socket) {
  const std::uint64_t id = next_id_++;
  events_.add(socket.get(), id);
  receivers_[id].socket = std::move(socket);
}

void DatagramPublication::take_newcomers() {
  for (;;) {
    UniqueFd socket = listening_.next();
    if (!socket.valid()) return;
    add(std::move(socket));
  }
}

std::uint32_t DatagramPublication::free_sleeper() const {
  for (std::uint32_t index = 0; index < kSleepersMax; ++index) {
    if (std::none_of(receivers_.begin(), receivers_.end(),
                     [&](const auto& each) { return each.second.sleeper == index; }))
      return index;
  }
  throw SetupError(SetupCause::kLimit, "too many receivers of one sender's datagrams");
}

void DatagramPublication::offer(Receiver& receiver, bool sleeps) {
  if (sleeps) {
    receiver.sleeper = free_sleeper();
    // Its line may be a dead receiver's, who slept.
    std::atomic_ref<std::uint32_t>(wake_page().each[receiver.sleeper].state)
        .store(kNeverParks, std::memory_order_seq_cst);
  }
  DatagramSetup setup;
  setup.type = DatagramSetupType::kOffer;
  setup.slots = layout_.slots;
  setup.datagram_bytes_max = layout_.datagram_bytes_max;
  setup.start = writer_.sent();
  setup.source_gid = source_.gid;
  setup.destination_gid = destination_;
  setup.source_qp_number = source_.qp_number;
  setup.sleeper = receiver.sleeper;
  // The ring is sealed: nobody can map it writable any more.
  const std::array<int, 2> descriptors{ring_.fd.get(), wake_memory_.fd.get()};
  send_datagram_setup(receiver.socket, setup, descriptors);
  receiver.offered = true;
}

bool DatagramPublication::attend(Receiver& receiver, DatagramSetupMessage message) {
  const bool sleeps = (message.setup.flags & kSleeps) != 0;
  if (message.setup.type != DatagramSetupType::kAttend || receiver.wake.valid() ||
      message.descriptors.size() != (sleeps ? 1u : 0u))
    return false;
  if (sleeps) receiver.wake = std::move(message.descriptors[0]);
  if ((message.setup.flags & kCannotBarrier) != 0) {
    // What it cannot do at its first arming is done here: our fences, and a barrier in front.
    std::uint32_t never = kNeverParks;
    std::atomic_ref<std::uint32_t>(wake_page().any.state)
        .compare_exchange_strong(never, kMayPark, std::memory_order_seq_cst);
    barriers_.run_within();
  }
  if (!receiver.offered) offer(receiver, sleeps);
  // The receiver may have fallen asleep before we knew how to wake it.
  wake_if_asleep(receiver);
  return true;
}

bool DatagramPublication::serve(Receiver& receiver) {
  try {
    while (std::optional<DatagramSetupMessage> message = receive_datagram_setup(receiver.socket)) {
      if (!attend(receiver, std::move(*message))) return false;
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void DatagramPublication::wake_if_asleep(const Receiver& receiver) noexcept {
  if (receiver.wake.valid() && receiver.sleeper < kSleepersMax &&
      take_sleeper(wake_page(), receiver.sleeper))
    wake_by(receiver.wake);
}

void DatagramPublication::wake_sleepers() noexcept {
  wanted_.acknowledge();
  for (const auto& [id, receiver] : receivers_) {
    wake_if_asleep(receiver);
  }
}

bool DatagramPublication::on_readable() noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  try {
    for (const std::uint64_t id : events_.ready()) {
      if (id == kWantedId) {
        wake_sleepers();
      } else if (id == kNewcomersId) {
        take_newcomers();
      } else if (const auto found = receivers_.find(id);
                 found != receivers_.end() && !serve(found->second)) {
        receivers_.erase(found);
      }
    }
  } catch (const std::exception&) {
    // Out of memory or descriptors: a receiver that could not be taken in finds no ring.
  }
  return true;
}

void DatagramPublication::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  receivers_.clear();
  listening_ = {};
}

}  // namespace tickpath::rdma::detail
