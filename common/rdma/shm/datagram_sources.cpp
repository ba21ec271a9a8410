#include "common/rdma/shm/datagram_sources.hpp"

#include <algorithm>

#include "common/rdma/shm/setup.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::size_t kOfferDescriptors = 2;  // ring, wake page

// As a GRH (volume 1, 8.3): version 6, next header 0x1b (IBA transport), hop limit 1: this host.
void fill_grh(std::array<std::byte, kGrhBytes>& grh, const DatagramSetup& offer) noexcept {
  grh[0] = std::byte{0x60};
  grh[6] = std::byte{0x1b};
  grh[7] = std::byte{1};
  std::copy(offer.source_gid.begin(), offer.source_gid.end(), grh.begin() + 8);
  std::copy(offer.destination_gid.begin(), offer.destination_gid.end(), grh.begin() + 24);
}

}  // namespace

DatagramSource::DatagramSource(const DatagramSetup& offer, std::vector<UniqueFd> descriptors,
                               bool from_start)
    : datagram_bytes_max(offer.datagram_bytes_max),
      qp_number(offer.source_qp_number),
      sleeper(offer.sleeper) {
  const DatagramRingLayout layout{offer.slots, offer.datagram_bytes_max};
  if (offer.type != DatagramSetupType::kOffer || descriptors.size() != kOfferDescriptors ||
      !layout.valid() || sleeper > kSleepersMax) {
    throw SetupError(SetupCause::kProtocol, "a sender of datagrams offers an impossible ring");
  }
  ring_ = map_peer_memory(descriptors[0], layout.size_bytes(), false);
  page_ = map_peer_memory(descriptors[1], sizeof(WakePage), true);
  reader.bind(ring_.data(), layout, from_start ? 0 : offer.start);
  fill_grh(grh, offer);
}

bool DatagramSources::add(DatagramSource& source) noexcept {
  {
    const std::lock_guard lock(mutex_);
    std::size_t index = 0;
    while (index < kSourcesMax && slots_[index].load(std::memory_order_relaxed) != nullptr) ++index;
    if (index == kSourcesMax) return false;
    // Pairs with the acquire in at(): without it a poll may see a half-built source.
    slots_[index].store(&source, std::memory_order_release);
    if (index >= used_.load(std::memory_order_relaxed))
      used_.store(index + 1, std::memory_order_release);
  }
  // A thread that parked before it could know of this ring looks again, and arms it too.
  if (queue_->wake() != nullptr) queue_->wake()->signal();
  return true;
}

void DatagramSources::remove(DatagramSource& source) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (auto& slot : slots_) {
      if (slot.load(std::memory_order_relaxed) == &source)
        slot.store(nullptr, std::memory_order_seq_cst);
    }
  }
  queue_->await_poll();
}

// ------------------------------------------------------------------------------------- intake

void DatagramIntake::take_in(UniqueFd socket, std::string name, bool from_start,
                             bool attend_first) {
  sweep();
  const std::uint64_t id = next_id_++;
  Peer& peer = peers_[id];
  peer.socket = std::move(socket);
  peer.name = std::move(name);
  peer.from_start = from_start;
  try {
    events_.add(peer.socket.get(), id);
    if (attend_first) attend(peer);
  } catch (const SetupError&) {
    peers_.erase(id);  // it is gone already
  }
}

bool DatagramIntake::knows(const std::string& name) const noexcept {
  return std::any_of(peers_.begin(), peers_.end(),
                     [&](const auto& each) { return each.second.name == name; });
}

std::size_t DatagramIntake::unanswered() const noexcept {
  return static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(), [](const auto& each) {
    return each.second.source == nullptr && !each.second.from_start;
  }));
}

void DatagramIntake::attend(Peer& peer) {
  DatagramSetup setup;
  setup.type = DatagramSetupType::kAttend;
  UniqueFd theirs;
  if (wake_ != nullptr) {
    peer.wake = WakeEnd(wake_, theirs);
    setup.flags = static_cast<std::uint8_t>(kSleeps | (has_barrier_ ? 0 : kCannotBarrier));
  }
  const int descriptor = theirs.get();
  send_datagram_setup(peer.socket, setup,
                      std::span(&descriptor, theirs.valid() ? std::size_t{1} : 0));
  peer.attends = true;
}

void DatagramIntake::install(Peer& peer, DatagramSetupMessage offer) {
  auto source =
      std::make_unique<DatagramSource>(offer.setup, std::move(offer.descriptors), peer.from_start);
  if (!peer.attends) attend(peer);
  if (!sources_->add(*source)) {
    throw SetupError(SetupCause::kLimit, "a datagram queue pair of shm hears " +
                                             std::to_string(DatagramSources::kSourcesMax) +
                                             " senders at most");
  }
  peer.source = std::move(source);
  heard_.fetch_add(1, std::memory_order_relaxed);  // a number to show
}

// False: the peer is gone, or is to be left alone.
bool DatagramIntake::serve(Peer& peer) {
  try {
    while (std::optional<DatagramSetupMessage> message = receive_datagram_setup(peer.socket)) {
      if (peer.source != nullptr) return false;  // it offers once
      install(peer, std::move(*message));
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool DatagramIntake::on_readable() noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  try {
    for (const std::uint64_t id : events_.ready()) {
      if (id == kNews) {
        news(id);
        continue;
      }
      const auto found = peers_.find(id);
      if (found == peers_.end() || serve(found->second)) continue;
      found->second.socket.reset();
      // What it sent before it went is still read.
      if (found->second.source == nullptr) {
        peers_.erase(found);
      } else {
        heard_.fetch_sub(1, std::memory_order_relaxed);
        found->second.source->ended.store(true, std::memory_order_release);
      }
    }
  } catch (const std::exception&) {
    // Out of memory or descriptors: whoever came is taken in with the next news.
  }
  sweep();
  return true;
}

// Drops the rings of those who are gone, once nothing is left in them.
void DatagramIntake::sweep() noexcept {
  for (auto it = peers_.begin(); it != peers_.end();) {
    DatagramSource* const source = it->second.source.get();
    if (source == nullptr || !source->drained.load(std::memory_order_acquire)) {
      ++it;
      continue;
    }
    sources_->remove(*source);
    it = peers_.erase(it);
  }
}

void DatagramIntake::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (auto& [id, peer] : peers_) {
    if (peer.source != nullptr) sources_->remove(*peer.source);
  }
  peers_.clear();
}

// -------------------------------------------------------------------------- unicast, multicast

DatagramInbox::DatagramInbox(DatagramSources& sources, std::shared_ptr<Wake> wake, bool has_barrier,
                             const DatagramAddress& address)
    : DatagramIntake(sources, std::move(wake), has_barrier),
      listening_(listen_abstract(datagram_socket_name(address))) {
  events_.add(listening_.descriptor(), kNews);
}

void DatagramInbox::news(std::uint64_t /*id*/) {
  for (;;) {
    UniqueFd socket = listening_.next();
    if (!socket.valid()) return;
    take_in(std::move(socket), {}, true, false);
  }
}

DatagramSubscription::DatagramSubscription(DatagramSources& sources, std::shared_ptr<Wake> wake,
                                           bool has_barrier,
                                           std::shared_ptr<const GroupFolder> folder)
    : DatagramIntake(sources, std::move(wake), has_barrier),
      folder_(std::move(folder)),
      watch_(folder_->watch()) {
  events_.add(watch_.get(), kNews);
  // After the watch: nobody comes unseen in between.
  look_for_senders(false);
}

void DatagramSubscription::look_for_senders(bool from_start) {
  for (const std::string& name : folder_->senders()) {
    if (knows(name)) continue;
    UniqueFd socket = folder_->connect(name);
    if (!socket.valid() || !peer_allowed(peer_identity(socket))) continue;
    take_in(std::move(socket), name, from_start, true);
  }
}

void DatagramSubscription::news(std::uint64_t /*id*/) {
  GroupFolder::take_news(watch_);
  look_for_senders(true);
}

bool DatagramSubscription::settled() const noexcept {
  const std::lock_guard lock(mutex_);
  return unanswered() == 0;
}

}  // namespace tickpath::rdma::detail
