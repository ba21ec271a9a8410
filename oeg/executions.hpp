// The executions that oeg has booked, by the venue's ExecID: what repeats one is not booked again,
// and what takes one back or corrects it finds what it was.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/base/id_map.hpp"
#include "common/base/units.hpp"
#include "oeg/journal_record.hpp"

namespace tickpath::oeg {

struct Execution {
  std::uint64_t exec_id = 0;   // fix::parse_id() of tag 17; a correction has its own
  std::uint64_t order_id = 0;  // tag 11 of its report
  std::uint32_t instrument = 0;
  std::uint32_t shares = 0;
  std::uint32_t price = 0;  // Price(4); see executed_price()
  std::uint8_t strategy = 0;
  Side side = Side::kBuy;
  bool canceled : 1 = false;  // taken back by the venue, or replaced by a correction
  bool charged : 1 = false;   // the venue wanted a fee for it, or gave a rebate
  std::uint8_t price_hundredths = 0;
};
static_assert(std::is_trivially_copyable_v<Execution> && sizeof(Execution) == 32);

constexpr ExecutedPrice executed_price(const Execution& execution) noexcept {
  return {execution.price, execution.price_hundredths};
}

// Datapath thread (the control thread before it starts). Allocates in the constructor alone. The
// newest `executions_max` are kept. Of an older one, a repetition is still refused if its order is
// done or has no shares left, and a cancellation becomes an exception for a person to look at.
class Executions {
 public:
  explicit Executions(std::uint32_t executions_max);

  // Ids are unique for a day at best, and some venues give both sides of a trade the same: so an
  // execution is an id of an order.
  Execution* find(std::uint64_t exec_id, std::uint64_t order_id) noexcept;
  // The newest of that id that `wanted`, a predicate of Execution, accepts; nullptr: none.
  template <class Wanted>
  Execution* find_if(std::uint64_t exec_id, Wanted&& wanted) noexcept {
    if (exec_id == 0) return nullptr;
    for (std::uint32_t at = newest_.find(exec_id); at != IdMap::kNone; at = entries_[at].older)
      if (wanted(entries_[at].execution)) return &entries_[at].execution;
    return nullptr;
  }
  void add(const Execution& execution) noexcept;
  // A record of the journal: a fill, or what became of one.
  void apply(const JournalRecord& record) noexcept;
  // Calls visit(const Execution&) for each that is remembered, oldest first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (entries_.empty()) return;
    if (entries_[next_].execution.exec_id != 0)  // it has been filled once
      for (std::size_t i = next_; i < entries_.size(); ++i) visit(entries_[i].execution);
    for (std::size_t i = 0; i < next_; ++i) visit(entries_[i].execution);
  }

 private:
  struct Entry {
    Execution execution;
    std::uint32_t older = IdMap::kNone;  // of the same id
  };
  void forget(std::uint32_t index) noexcept;

  std::vector<Entry> entries_;  // a ring
  std::uint32_t next_ = 0;
  IdMap newest_;  // by exec_id
};

}  // namespace tickpath::oeg
