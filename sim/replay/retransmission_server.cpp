#include "sim/replay/retransmission_server.hpp"

#include <algorithm>
#include <cstring>

#include "common/base/memory.hpp"
#include "common/clock/clock.hpp"

namespace tickpath::sim {

using itch::mold::PacketStatus;

MessageStore::MessageStore(std::size_t messages, std::size_t bytes)
    : capacity_(messages),
      bytes_(bytes),
      places_(new Place[messages]()),
      buffer_(new std::byte[bytes]()) {}

void MessageStore::append(std::span<const std::byte> message) noexcept {
  // A message lies in one piece: at the end of the buffer it starts over.
  if (end_ % bytes_ + message.size() > bytes_) end_ += bytes_ - end_ % bytes_;
  const std::uint64_t end = end_ + message.size();
  while (first_ < next_ &&
         (next_ - first_ == capacity_ || places_[first_ % capacity_].at + bytes_ < end))
    ++first_;
  std::memcpy(buffer_.get() + end_ % bytes_, message.data(), message.size());
  places_[next_ % capacity_] = {end_, static_cast<std::uint16_t>(message.size())};
  end_ = end;
  ++next_;
}

std::span<const std::byte> MessageStore::find(std::uint64_t sequence) const noexcept {
  if (sequence < first_ || sequence >= next_) return {};
  const Place& place = places_[sequence % capacity_];
  return {buffer_.get() + place.at % bytes_, place.bytes};
}

RetransmissionServer::RetransmissionServer(const RetransmissionOptions& options,
                                           const itch::mold::Session& session)
    : socket_({.local = options.listen, .remote = {}}),
      session_(session),
      store_(options.messages, options.bytes),
      loss_(options.loss, 1, options.seed),
      builder_(std::span(buffer_).first(std::min(options.packet_bytes, buffer_.size()))) {
  reserve_touched(requests_, kRequestsMax);
  burst_ = std::max<double>(options.rate / static_cast<double>(kBurstsPerSecond), 1);
  per_tick_ = options.rate / static_cast<double>(clock::tsc_hz());
}

// The one that has been silent longest makes room for an address that is new.
RetransmissionServer::Share& RetransmissionServer::share_of(std::uint32_t address,
                                                            TscTicks now) noexcept {
  const auto known = std::ranges::find(shares_, address, &Share::address);
  Share& share =
      known != shares_.end() ? *known : *std::ranges::min_element(shares_, {}, &Share::since);
  if (share.address != address) share = {address, burst_, now};
  if (now > share.since)
    share.left =
        std::min(burst_, share.left + static_cast<double>((now - share.since).value) * per_tick_);
  share.since = now;
  return share;
}

void RetransmissionServer::take_requests() noexcept {
  std::array<std::byte, itch::mold::kHeaderBytes + 1> packet;  // one more: too long is seen
  for (std::size_t i = 0; i < kRequestsMax; ++i) {
    std::size_t size = 0;
    net::Endpoint from;
    const net::IoStatus status = socket_.receive(packet, size, from);
    if (status == net::IoStatus::kWouldBlock) return;
    if (status == net::IoStatus::kFailed) {
      counters_.failed.add();  // an answer that nobody took came back as an error
      continue;
    }
    accept(std::span(packet).first(size), from);
  }
}

void RetransmissionServer::accept(std::span<const std::byte> packet,
                                  const net::Endpoint& from) noexcept {
  counters_.requests.add();
  itch::mold::PacketHeader wanted;
  const std::uint64_t next = store_.next();
  if (itch::mold::parse_request(packet, wanted) != PacketStatus::kOk ||
      wanted.session != session_ || wanted.sequence_number == 0 || wanted.sequence_number >= next ||
      wanted.message_count == 0) {
    counters_.refused.add();
    return;
  }
  if (wanted.sequence_number < store_.first()) {
    counters_.not_kept.add();
    return;
  }
  const Request request{from, wanted.sequence_number,
                        std::min(next, wanted.sequence_number + wanted.message_count)};
  // A repeated request replaces the one before: its answer is wanted once.
  const auto same = std::ranges::find(requests_, from, &Request::from);
  if (same != requests_.end()) {
    *same = request;
  } else if (requests_.size() < kRequestsMax) {
    requests_.push_back(request);
  } else {
    counters_.overloaded.add();
  }
}

// One packet. False: the socket is full, or there is nothing left to answer.
bool RetransmissionServer::answer(Request& request) noexcept {
  builder_.begin(session_, request.next);
  std::uint64_t at = request.next;
  for (; at < request.end; ++at) {
    const std::span<const std::byte> message = store_.find(at);
    if (message.empty() || !builder_.append(message)) break;
  }
  if (at == request.next) {  // overwritten meanwhile
    counters_.not_kept.add();
    request.next = request.end;
    return false;
  }
  if (loss_.lost()) {
    counters_.lost.add();
  } else {
    const net::IoStatus status = socket_.send(builder_.finish(), request.from);
    if (status == net::IoStatus::kWouldBlock) return false;
    if (status == net::IoStatus::kFailed) counters_.failed.add();
    counters_.packets.add();
    counters_.messages.add(at - request.next);
  }
  request.next = at;
  return true;
}

bool RetransmissionServer::turn(TscTicks now) noexcept {
  take_requests();
  if (requests_.empty()) [[likely]]
    return false;
  std::size_t at = 0;
  for (std::size_t packets = 0; packets < kPacketsPerTurn && at < requests_.size();) {
    Request& request = requests_[at];
    Share& share = share_of(request.from.address, now);
    if (share.left <= 0) {
      counters_.delayed.add();
      ++at;
      continue;
    }
    const std::uint64_t from = request.next;
    const bool sent = answer(request);
    share.left -= static_cast<double>(request.next - from);
    ++packets;
    if (request.next >= request.end)
      requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(at));
    else if (!sent)
      break;
  }
  return true;
}

}  // namespace tickpath::sim
