// The FIX session with the venue, as the gateway uses it. Datapath thread, where nothing else is
// said.
#pragma once

#include <cstdint>

#include "common/base/spsc_ring.hpp"
#include "common/fix/session.hpp"
#include "oeg/pair.hpp"
#include "oeg/ports.hpp"
#include "oeg/steps.hpp"

namespace tickpath::oeg {

class VenueLink final : public VenuePort {
 public:
  // Control thread. Opens the FIX store. Throws Error.
  explicit VenueLink(const fix::SessionOptions& options) : session_(options) {}
  ~VenueLink();
  VenueLink(const VenueLink&) = delete;
  VenueLink& operator=(const VenueLink&) = delete;

  // ---- control thread

  // Before the datapath starts.
  void set_pair(const Pair* pair) noexcept { pair_ = pair; }
  // A connected socket to the venue; false: the last one has not been taken yet (keep it).
  bool give_socket(int socket) noexcept { return sockets_.try_push(socket); }
  // Whether one that was given is not in use yet.
  bool socket_waits() const noexcept { return !sockets_.drained(); }

  fix::Session& session() noexcept { return session_; }
  const fix::Session& session() const noexcept { return session_; }
  // Each turn: uses a socket that was given.
  void take_socket() noexcept;

  // ---- VenuePort
  fix::SendStatus send(const fix::NewOrderSingle& message, fix::SendTimes& times) override {
    const fix::SendStatus status = session_.send(message, &times);
    at(Step::kSent);
    return status;
  }
  fix::SendStatus send(const fix::OrderCancelRequest& message, fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  fix::SendStatus send(const fix::OrderCancelReplaceRequest& message,
                       fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  fix::SendStatus send(const fix::OrderStatusRequest& message, fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  // A blocked leader is none.
  bool up() const noexcept override {
    return session_.logged_on() && (pair_ == nullptr || !pair_->status().blocked());
  }
  bool takes_orders() const noexcept override { return pair_ == nullptr || pair_->may_trade(); }
  bool behind_gap() const noexcept override { return session_.behind_gap(); }
  bool congested() const noexcept override { return session_.wants_write(); }
  std::uint32_t next_seq() const noexcept override { return session_.next_sender_seq(); }

 private:
  fix::Session session_;
  const Pair* pair_ = nullptr;
  SpscRing<int> sockets_{4};
};

}  // namespace tickpath::oeg
