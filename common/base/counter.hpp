// A counter with one writer (the datapath thread) and any number of readers (control, metrics).
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace tickpath {

class Counter {
 public:
  // Writer thread only. A plain load and store instead of a locked add: there is one writer.
  // Relaxed: a reader wants a recent value and orders nothing by it.
  void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }

  // Any thread.
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

namespace detail {

// names: "packets, gaps", of the counters behind it.
template <class Visit, class... Counters>
void visit_counters(std::string_view names, Visit&& visit, const Counters&... counters) {
  const auto next = [&names] {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(name.size() < names.size() ? name.size() + 2 : name.size());
    return name;
  };
  (visit(next(), counters), ...);
}

}  // namespace detail
}  // namespace tickpath

// The counters of a struct and their names, written once:
//
//   struct FeedCounters {
//     TICKPATH_COUNTERS(packets,
//                       gaps);  // in the sequence of messages
//   };
//
// declares two counters and for_each(visit), which calls visit(name, counter) in this order.
#define TICKPATH_COUNTERS(...)                                          \
  template <class Visit>                                                \
  void for_each(Visit&& visit) const {                                  \
    tickpath::detail::visit_counters(#__VA_ARGS__, visit, __VA_ARGS__); \
  }                                                                     \
  tickpath::Counter __VA_ARGS__
