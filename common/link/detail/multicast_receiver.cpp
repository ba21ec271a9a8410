#include "common/link/detail/multicast_receiver.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/clock/clock.hpp"

namespace tickpath::link {
namespace {

// Datagrams that may wait while the reader is busy; a longer burst is READ.
constexpr std::uint32_t kReceives = 1024;
// How often the publisher's place is looked at: that long may the end of a burst stay unknown whose
// last datagrams were lost, and a forged update undiscovered. Each look is two READs. When nothing
// happens it is five times as long.
constexpr std::uint64_t kLookEveryNs = 1'000'000;
constexpr std::uint64_t kLookQuietNs = 5'000'000;
// While somebody waits for images.
constexpr std::uint64_t kLookSoonNs = 20'000;
// Taken in one step; the rest waits for the next, so that updates are handed over meanwhile.
constexpr std::size_t kTakenAtOnce = 32;

std::size_t lines(std::size_t bytes) {
  return (bytes + kCacheLineBytes - 1) & ~(kCacheLineBytes - 1);
}

}  // namespace

MulticastReceiver::MulticastReceiver(rdma::Device& device, rdma::CompletionChannel* channel,
                                     const std::string& name, const MulticastInvitation& invitation,
                                     const MulticastMemory& memory, const MulticastLoss& loss,
                                     MulticastCounters& counters)
    : OneSidedClient(device, sizeof(Work), name + ".missing"),
      invitation_(invitation),
      memory_(memory),
      ring_mask_(memory.depth - 1),
      layout_{invitation.part.depth},
      loss_(loss),
      random_(loss.seed),
      counters_(counters),
      // As long as any that can arrive, whoever sent it: where a datagram does not fit its receive,
      // a device may fail the queue pair.
      stride_(lines(rdma::kGrhBytes + device.info().datagram_bytes_max)),
      seen_(kSeenMask + 1) {
  if (!device.info().multicast)
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           name + ": device " + device.info().name + " has no multicast");
  if (memory.image_count != 0 &&
      sizeof(DatagramHeader) + 8 + memory.image_bytes > invitation.part.datagram_bytes)
    throw rdma::SetupError(rdma::SetupCause::kProtocol, name + ": no image fits a datagram");
  const clock::TickConverter converter;
  look_every_ = converter.from_ns(kLookEveryNs);
  look_quiet_ = converter.from_ns(kLookQuietNs);
  look_soon_ = converter.from_ns(kLookSoonNs);
  buffers_ = device.allocate(kReceives * stride_, rdma::kLocalWrite, name + ".datagrams");
  queue_ = device.create_queue(kReceives + 16, channel);
  rdma::DatagramOptions options;
  options.send_depth = 1;
  options.receive_depth = kReceives;
  options.q_key = invitation.part.sender.q_key;
  options.datagram_bytes_max = invitation.part.datagram_bytes;
  pair_ = device.create_datagram_queue_pair(*queue_, options);
  // Posted before anything can come, by the thread that will not touch it again.
  for (std::uint64_t buffer = 0; buffer < kReceives; ++buffer) post_receive(buffer);
  member_ = std::make_unique<GroupMember>(*pair_, invitation.group, rdma::MulticastRole::kReceiver);
}

void MulticastReceiver::attach(Connection& connection, const rdma::RemoteRegion& ring,
                               const rdma::RemoteRegion& images) noexcept {
  use(connection);
  ring_ = ring;
  table_ = images;
}

void MulticastReceiver::begin(std::uint64_t next) noexcept {
  next_ = frontier_ = next;
  newest_ = std::max(newest_, next - 1);
  lost_to_ = 0;
  anchored_ = false;
  checked_ = next - 1;
  if (!begun_) table_read_ = memory_.image_count == 0;
  begun_ = true;
  next_look_ = TscTicks{0};
  advance();
}

void MulticastReceiver::step(std::uint64_t next) noexcept {
  if (!begun_) return;
  next_ = next;
  rdma::Completion completions[kTakenAtOnce];
  taken_ = queue_->poll(completions);
  for (std::size_t i = 0; i < taken_; ++i) {
    take(completions[i]);
    post_receive(completions[i].wr_id);
  }
  if (operation_ == Operation::kNone) start();
}

void MulticastReceiver::post_receive(std::uint64_t buffer) noexcept {
  rdma::ReceiveRequest request;
  request.wr_id = buffer;
  request.local_address = buffers_->data() + buffer * stride_;
  request.length_bytes = static_cast<std::uint32_t>(stride_);
  request.lkey = buffers_->lkey();
  if (pair_->post_receive(request) != rdma::PostStatus::kOk) failed_ = true;
}

// Nothing of a datagram is believed but what could be a datagram of this publisher's.
void MulticastReceiver::take(const rdma::Completion& completion) noexcept {
  if (completion.status != rdma::CompletionStatus::kSuccess) [[unlikely]] {
    if (completion.status == rdma::CompletionStatus::kLocalLength) return counters_.malformed.add();
    failed_ = true;
    return;
  }
  if (loss_.per_mille != 0 && random_.below(1000) < loss_.per_mille) return counters_.dropped.add();
  const std::byte* const buffer = buffers_->data() + completion.wr_id * stride_;
  const std::byte* const bytes = buffer + rdma::kGrhBytes + sizeof(DatagramHeader);
  const std::size_t head = rdma::kGrhBytes + sizeof(DatagramHeader);
  if (completion.byte_length < head) return counters_.malformed.add();
  const rdma::DatagramAddress source = rdma::source_of(
      completion, std::span<const std::byte, rdma::kGrhBytes>(buffer, rdma::kGrhBytes));
  DatagramHeader header;
  std::memcpy(&header, buffer + rdma::kGrhBytes, sizeof(header));
  const rdma::DatagramAddress& sender = invitation_.part.sender;
  if (source.qp_number != sender.qp_number || source.gid != sender.gid ||
      header.epoch != invitation_.part.epoch)
    return counters_.foreign.add();
  const std::size_t length = completion.byte_length - head;
  if (header.kind == DatagramKind::kUpdates && header.count != 0 && header.first != 0 &&
      length == header.count * sizeof(RingSlot))
    take_updates(header, bytes);
  else if (header.kind == DatagramKind::kImages && header.count != 0 && header.first != 0 &&
           length == header.count * (8 + memory_.image_bytes))
    take_images(header, bytes);
  else if (header.kind == DatagramKind::kState && length == sizeof(MulticastState))
    take_state(bytes);
  else
    return counters_.malformed.add();
  counters_.datagrams.add();
}

// ----------------------------------------------------------------------------------------- updates

void MulticastReceiver::take_updates(const DatagramHeader& header,
                                     const std::byte* bytes) noexcept {
  for (std::uint64_t i = 0; i < header.count; ++i) {
    RingSlot slot;
    std::memcpy(&slot, bytes + i * sizeof(slot), sizeof(slot));
    if (slot.sequence != header.first + i) return counters_.malformed.add();
    put(slot);
  }
}

// True: it was not there before.
bool MulticastReceiver::put(const RingSlot& slot) noexcept {
  const std::uint64_t sequence = slot.sequence;
  newest_ = std::max(newest_, sequence);
  RingSlot& place = held(sequence);
  if (place.sequence == sequence) {
    // Two that differ: one of them is not the publisher's.
    if (std::memcmp(&place, &slot, sizeof(slot)) != 0) forged_ = true;
    counters_.duplicates.add();
    return false;
  }
  if (sequence < frontier_) {
    counters_.duplicates.add();
    return false;
  }
  // One slot stays between the newest and what the reader reads: RingReader::read() looks at it.
  if (sequence - next_ >= memory_.depth - 1) return false;  // READ when there is room
  place = slot;
  if (sequence == frontier_) advance();
  return true;
}

void MulticastReceiver::advance() noexcept {
  while (held(frontier_).sequence == frontier_) ++frontier_;
  if (anchored_) extend_check();
}

void MulticastReceiver::extend_check() noexcept {
  for (; checked_ + 1 < frontier_; ++checked_) {
    const RingSlot& slot = held(checked_ + 1);
    if (slot.sequence != checked_ + 1) {  // taken and overwritten meanwhile: from here on again
      anchored_ = false;
      checked_ = frontier_ - 1;
      return;
    }
    check_ = chain_check(check_, slot);
  }
}

// ------------------------------------------------------------------------------------------ images

void MulticastReceiver::take_images(const DatagramHeader& header, const std::byte* bytes) noexcept {
  const std::size_t stride = 8 + memory_.image_bytes;
  for (std::uint64_t i = 0; i < header.count; ++i) {
    std::uint64_t index = 0;
    std::memcpy(&index, bytes + i * stride, sizeof(index));
    const std::byte* const record = bytes + i * stride + 8;
    const std::uint64_t head = head_of(record);
    if (index >= memory_.image_count || !is_whole(record, head, head))
      return counters_.malformed.add();
    put_image(index, record);
    note_image(header.first + i);
  }
}

bool MulticastReceiver::is_whole(const std::byte* record, std::uint64_t before,
                                 std::uint64_t after) const noexcept {
  if (before != after || before == 0 || (before & 1) != 0) return false;
  for (std::size_t at = 56; at < memory_.image_bytes; at += sizeof(RecordLine)) {
    std::uint64_t version = 0;
    std::memcpy(&version, record + at, sizeof(version));
    if (version != before) return false;
  }
  return true;
}

// As VersionedRecord::store(); an older one changes nothing.
void MulticastReceiver::put_image(std::uint64_t index, const std::byte* record) noexcept {
  auto* const place =
      reinterpret_cast<std::uint64_t*>(memory_.images + index * memory_.image_bytes);
  const std::size_t words = memory_.image_bytes / 8;
  const std::uint64_t version = head_of(record);
  const std::uint64_t known = load_word(place[words - 1], std::memory_order_relaxed);
  if (version == known && std::memcmp(place, record, memory_.image_bytes) != 0) forged_ = true;
  if (version <= known) return;
  for (std::size_t line = 7; line < words; line += 8)
    store_word(place[line], version - 1, std::memory_order_relaxed);
  for (std::size_t word = 0; word < words; ++word) {
    if (word % 8 == 7) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, record + word * 8, sizeof(value));
    store_word(place[word], value, std::memory_order_release);
  }
  for (std::size_t line = 7; line < words; line += 8)
    store_word(place[line], version, std::memory_order_release);
}

void MulticastReceiver::note_image(std::uint64_t number) noexcept {
  images_newest_ = std::max(images_newest_, number);
  seen_[number & kSeenMask] = number;
  if (!table_read_ || number != image_next_) return;
  while (seen_[image_next_ & kSeenMask] == image_next_) ++image_next_;
  settle();
}

// No more than a hint that there is something to READ: what it says is asked of the publisher.
void MulticastReceiver::take_state(const std::byte* bytes) noexcept {
  MulticastState said;
  std::memcpy(&said, bytes, sizeof(said));
  newest_ = std::max(newest_, said.published);
  images_newest_ = std::max(images_newest_, said.images);
}

// What the state says of images holds here once all that it counts are here.
void MulticastReceiver::settle() noexcept {
  if (!table_read_) return;
  for (int i = 0; i < 2 && image_next_ > awaited_.images; ++i) {
    flushed_ = std::max(flushed_, awaited_.flushed);
    awaited_ = state_;
  }
}

bool MulticastReceiver::images_settled(std::uint64_t last) noexcept {
  newest_ = std::max(newest_, last);
  if (!std::exchange(closing_, true)) looked_ = false;  // what it said last, behind its close
  if (!looked_ || state_.published < last) {
    look_soon();
    return false;
  }
  return table_read_ && image_next_ > state_.images && operation_ == Operation::kNone;
}

bool MulticastReceiver::settled(std::uint64_t last) noexcept {
  return images_settled(last) && frontier_ > last;
}

}  // namespace tickpath::link
