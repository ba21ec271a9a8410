// Reports of one session that wait to be sent, in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>

#include "common/base/check.hpp"
#include "common/base/counter.hpp"
#include "common/fix/messages.hpp"
#include "sim/matching/types.hpp"
#include "sim/orders/cl_ord_ids.hpp"

namespace tickpath::sim {

// Datapath thread; size() anywhere. Matching fills it, the session empties it: so a fill never
// waits for the formatting of the one before, and a peer that does not read holds up nobody else.
class Outbox {
 public:
  // A report of matching, the answer to a status request (a report of which nothing happened), or
  // to a mass cancel.
  struct Status {
    Report report;
    ShortText request_id{};  // tag 790
    // To a mass status request, whose id (584) is in the place of Names::orig.
    bool mass = false;
    bool last = false;        // 912
    std::uint32_t total = 0;  // 911
  };
  using Answer = std::variant<Report, Status, fix::OrderMassCancelReport>;
  // As the peer calls them; empty: by number.
  struct Names {
    ShortText id;    // 11
    ShortText orig;  // 41
  };
  struct Entry {
    Answer answer;
    ShortText symbol;  // 55
    Names names;
    std::string_view text{};                            // in place of the reason's; lives for ever
    fix::TradeChange change = fix::TradeChange::kNone;  // of the fill in `answer`
  };

  // capacity: a power of two.
  explicit Outbox(std::uint32_t capacity)
      : entries_(std::make_unique<Entry[]>(capacity)), mask_(capacity - 1) {
    TICKPATH_CHECK(capacity != 0 && (capacity & mask_) == 0, "a power of two");
  }

  bool full() const noexcept { return tail_ - head_ > mask_; }
  bool empty() const noexcept { return tail_ == head_; }
  void push(const Entry& entry) noexcept {
    TICKPATH_CHECK(!full(), "the outbox has room");
    entries_[tail_++ & mask_] = entry;
    size_.set(tail_ - head_);
  }
  const Entry& front() const noexcept { return entries_[head_ & mask_]; }
  void pop() noexcept {
    ++head_;
    size_.set(tail_ - head_);
  }
  std::uint64_t size() const noexcept { return size_.get(); }

 private:
  std::unique_ptr<Entry[]> entries_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  Counter size_;
};

}  // namespace tickpath::sim
