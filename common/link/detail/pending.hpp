// Connections whose set-up is under way, as the patterns keep them. Control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/link/handshake.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// How the set-up of a connection that was accepted ended, told once by a later collect(): error is
// nullptr where it works from now on. id: of the subscriber or client.
using Accepted = std::function<void(std::uint32_t id, const rdma::SetupError* error)>;

// made: what belongs to the connection and outlives its queue pair.
template <class T>
struct PendingLink {
  LinkPart part;  // the one that is to be checked when the set-up is over
  std::unique_ptr<T> made;
  std::unique_ptr<rdma::CompletionQueue> queue;
  std::unique_ptr<rdma::PendingConnection> set_up;  // given up before what it uses goes
  // Once it is over. Here, and not beside: a link that turns out wrong must end it before its
  // queue.
  std::unique_ptr<rdma::QueuePair> pair;

  // Takes the pair; returns the peer's answer.
  std::vector<std::byte> finish(rdma::Connected connected) {
    pair = std::move(connected.queue_pair);
    return std::move(connected.answer);
  }
  // Waits for the end of the set-up, likewise. Throws rdma::SetupError.
  std::vector<std::byte> wait() { return finish(rdma::wait_for(*set_up)); }
};

// A client's one attempt.
template <class T>
class PendingConnect {
 public:
  bool under_way() const noexcept { return link_.has_value(); }
  void begin(PendingLink<T> link) { link_.emplace(std::move(link)); }
  // nullopt: under way, or none was begun. Else the result of adopt(PendingLink<T>, answer). Throws
  // rdma::SetupError. The attempt is over after both.
  template <class Adopt>
  std::optional<std::vector<std::byte>> poll(Adopt&& adopt) {
    if (!link_) return std::nullopt;
    try {
      std::optional<rdma::Connected> connected = link_->set_up->poll();
      if (!connected) return std::nullopt;
      PendingLink<T> link = std::move(*link_);
      link_.reset();
      const std::vector<std::byte> answer = link.finish(std::move(*connected));
      return adopt(std::move(link), answer);
    } catch (const rdma::SetupError&) {
      link_.reset();
      throw;
    }
  }

 private:
  std::optional<PendingLink<T>> link_;
};

// A listener's, which confirm in any order.
template <class T>
class PendingAccepts {
 public:
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  void add(PendingLink<T> link, Accepted accepted) {
    entries_.push_back({std::move(link), std::move(accepted), {}});
  }
  // The one that has been under way for longest makes room for another.
  void drop_oldest() {
    for (Entry& entry : entries_)
      if (entry.link.set_up != nullptr) return give_up(entry, "it took too long, others wait");
  }
  // Nobody gets what was granted while it is taken back. Told by the next step().
  void drop_all(const char* why) {
    for (Entry& entry : entries_) give_up(entry, why);
  }
  // adopt(PendingLink<T>) takes those that are over and returns their ids; it may throw
  // rdma::SetupError.
  template <class Adopt>
  void step(Adopt&& adopt) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const auto next = std::next(entry);
      if (step_one(*entry, adopt)) entries_.erase(entry);
      entry = next;
    }
  }

 private:
  struct Entry {
    PendingLink<T> link;
    Accepted accepted;
    std::string given_up;
  };

  static void give_up(Entry& entry, const char* why) {
    entry.link.set_up.reset();
    if (entry.given_up.empty()) entry.given_up = why;
  }

  // True: over.
  template <class Adopt>
  bool step_one(Entry& entry, Adopt& adopt) {
    try {
      if (entry.link.set_up == nullptr)
        throw rdma::SetupError(rdma::SetupCause::kRefused,
                               "its set-up was given up: " + entry.given_up);
      std::optional<rdma::Connected> done = entry.link.set_up->poll();
      if (!done) return false;
      entry.link.finish(std::move(*done));
      const std::uint32_t id = adopt(std::move(entry.link));
      if (entry.accepted) entry.accepted(id, nullptr);
    } catch (const rdma::SetupError& error) {
      if (entry.accepted) entry.accepted(0, &error);
    }
    return true;
  }

  std::list<Entry> entries_;  // oldest first
};

}  // namespace tickpath::link
