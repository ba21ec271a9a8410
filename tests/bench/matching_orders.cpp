// What an order of a participant costs while more and more of them rest: the matching core alone,
// one instrument, no recorded orders.
//
//   matching_orders [--quick] [--resting N] [--messages N] [--prices N] [--spread uniform]
//
// First N orders come to rest. Then a flow of orders passes: 15 % are immediate or cancel; of the
// others 20 % are modified, and 95 % cancelled before long. Orders that stay make up for those that
// trade, so that N is the same at the end. Distances from the middle follow a power law, as far as
// `--prices` (800, at most 16,000); `--spread uniform` makes every distance as likely. One sample a
// message.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/random.hpp"
#include "sim/matching/matcher.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::sim {
namespace {

constexpr double kGrowthBar = 1.5;     // from the fewest resting orders to the most
constexpr double kBytesOrderBar = 96;  // of memory
constexpr Locate kLocate = 1;
constexpr std::int64_t kMiddle = 1'675'200;  // Price(4)
constexpr std::int64_t kTick = 100;
// Orders at one time that are still to be modified or cancelled.
constexpr std::size_t kYoungMax = 64;

struct Shape {
  std::uint32_t resting;
  std::uint64_t messages;
  std::uint32_t prices;
  bool uniform;
};

struct CountingSink final : ReportSink {
  std::uint64_t reports = 0, fills = 0;
  void on_report(const Report& report) noexcept override {
    ++reports;
    if (report.kind == wire::ReportKind::kFill) ++fills;
  }
};

class Flow {
 public:
  explicit Flow(const Shape& shape) : shape_(shape), matcher_(options(shape), sink_) {
    young_.reserve(kYoungMax);
    while (matcher_.live_orders() < shape_.resting) matcher_.enter(passive_order());
  }

  // The next message of the flow: made before the clock is read.
  template <class Timed>
  void step(const Timed& timed) {
    if (young_.size() == kYoungMax || (!young_.empty() && random_.chance(kChangesShare)))
      return change_one(timed);
    NewOrder order = passive_order();
    if (random_.chance(kImmediateShare)) {
      order.time_in_force = TimeInForce::kImmediateOrCancel;
      if (random_.chance(kTakingShare)) order.price = {far_price(order.side)};
    }
    timed([&] { matcher_.enter(order); });
    const bool stays = matcher_.live_orders() <= shape_.resting && random_.chance(kStaysShare);
    if (order.time_in_force != TimeInForce::kImmediateOrCancel && !stays)
      young_.push_back({order, random_.chance(kModifiedShare)});
  }
  std::uint32_t resting() const { return matcher_.live_orders(); }
  const MatcherCounters& counters() const { return matcher_.counters(); }
  const CountingSink& sink() const { return sink_; }

 private:
  static constexpr double kImmediateShare = 0.15;
  static constexpr double kModifiedShare = 0.20;
  // The book is below its size half of the time: 5 % of the others stay.
  static constexpr double kStaysShare = 0.10;
  // This share of immediate orders trades: as many as stay.
  static constexpr double kTakingShare = 0.28;
  // A new order is followed by 0.85 x (0.95 + 0.2) changes.
  static constexpr double kChangesShare = 0.49;

  struct Young {
    NewOrder order;
    bool to_modify;
  };

  static MatcherOptions options(const Shape& shape) {
    MatcherOptions made;
    made.book = {.orders_max = 64, .levels_max = 64};
    made.live_orders_max = 1u << 21;
    // The same for every size, as a larger table is a slower one.
    made.order_ids_max = static_cast<std::uint32_t>((1u << 20) + shape.messages);
    made.ticks = TickRule::kAny;
    return made;
  }
  std::uint32_t distance() {
    if (shape_.uniform) return 1 + random_.below(shape_.prices);
    // P(distance > x) = (6 / x)^2 for x above 6.
    const double far = 6.0 / std::sqrt(1.0 - random_.unit());
    return static_cast<std::uint32_t>(std::clamp(far, 1.0, double(shape_.prices)));
  }
  NewOrder passive_order() {
    NewOrder order;
    order.order_id = ++ids_;
    order.side = random_.chance(0.5) ? Side::kBuy : Side::kSell;
    const std::int64_t away = kTick * distance();
    order.price = {order.side == Side::kBuy ? kMiddle - away : kMiddle + away};
    order.locate = kLocate;
    order.shares = 1 + random_.below(100);
    order.party = party(order.side);
    return order;
  }
  // Two parties: buyers and sellers never meet their own orders.
  static Party party(Side side) { return {0, static_cast<std::uint8_t>(side)}; }
  static std::int64_t far_price(Side side) {
    return side == Side::kBuy ? kMiddle + 20 * kTick : kMiddle - 20 * kTick;
  }

  template <class Timed>
  void change_one(const Timed& timed) {
    std::swap(young_[random_.below(young_.size())], young_.back());
    Young& young = young_.back();
    const NewOrder order = young.order;
    if (young.to_modify) {
      young.to_modify = false;
      young.order.order_id = ++ids_;
      ++young.order.shares;
      if (random_.chance(0.8)) young.order.price.value += order.side == Side::kBuy ? kTick : -kTick;
      const ReplaceOrder request{.order_id = young.order.order_id,
                                 .target_order_id = order.order_id,
                                 .price = young.order.price,
                                 .locate = kLocate,
                                 .shares = young.order.shares,
                                 .party = order.party,
                                 .side = order.side};
      return timed([&] { matcher_.replace(request); });
    }
    young_.pop_back();
    const CancelOrder request{++ids_, order.order_id, kLocate, order.party, order.side};
    timed([&] { matcher_.cancel(request); });
  }

  Shape shape_;
  CountingSink sink_;
  Matcher matcher_;
  Random random_{11};
  std::uint64_t ids_ = 0;
  std::vector<Young> young_;
};

constexpr double kPercents[] = {50, 90, 99};
using Figures = std::array<double, std::size(kPercents)>;  // ns

Figures run(const Shape& shape) {
  const auto flow = std::make_unique<Flow>(shape);
  bench::Samples samples(shape.messages);
  for (std::uint64_t i = 0; i < shape.messages; ++i)
    flow->step([&samples](const auto& message) {
      const std::uint64_t before = tsc_now().value;
      message();
      samples.add(tsc_now().value - before);
    });
  const std::string label = std::to_string(shape.resting) + " resting orders, a message";
  samples.print(label);
  std::printf("%s: resting at the end %u, reports %llu, fills %llu\n", label.c_str(),
              flow->resting(), static_cast<unsigned long long>(flow->sink().reports),
              static_cast<unsigned long long>(flow->sink().fills));
  Figures figures;
  for (std::size_t i = 0; i < figures.size(); ++i) figures[i] = samples.percentile_ns(kPercents[i]);
  return figures;
}

// What the kernel has given the process, bytes.
double resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long size = 0, resident = 0;
  const bool read = file != nullptr && std::fscanf(file, "%lu %lu", &size, &resident) == 2;
  if (file != nullptr) std::fclose(file);
  return read ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

// What one more order needs: the difference of two sizes, without what both have.
void measure_memory() {
  constexpr std::uint32_t kFew = 1u << 17, kMany = 1u << 20;
  const auto bytes_of = [](std::uint32_t orders) {
    const double before = resident_bytes();
    const LiveOrders live(orders);
    return resident_bytes() - before;
  };
  (void)bytes_of(kFew);  // what the first one alone brings
  const double few = bytes_of(kFew);
  const double bytes = (bytes_of(kMany) - few) / (kMany - kFew);
  std::printf(
      "memory an order: %.1f bytes (bar %.0f: %s); those of all instruments' queues %.1f MB\n",
      bytes, kBytesOrderBar, bytes <= kBytesOrderBar ? "met" : "not met",
      (few - bytes * kFew) / 1e6);
}

}  // namespace
}  // namespace tickpath::sim

int main(int argc, char** argv) {
  using namespace tickpath;
  const bool quick = bench::is_quick(argc, argv);
  bench::print_environment("matching_orders: a participant's message while many orders rest");
  std::vector<std::uint32_t> sizes{100, 1'000, 10'000, 100'000, 1'000'000};
  if (quick) sizes.resize(2);
  if (const std::uint64_t only = bench::option(argc, argv, "--resting", 0); only != 0)
    sizes = {static_cast<std::uint32_t>(only)};
  std::vector<sim::Figures> figures;
  for (const std::uint32_t resting : sizes)
    figures.push_back(
        sim::run({resting, bench::option(argc, argv, "--messages", quick ? 2'000 : 2'000'000),
                  static_cast<std::uint32_t>(
                      std::min<std::uint64_t>(bench::option(argc, argv, "--prices", 800), 16'000)),
                  bench::text_option(argc, argv, "--spread") == "uniform"}));
  for (std::size_t i = 0; i < std::size(sim::kPercents); ++i)
    bench::print_ratio("growth of p" + std::to_string(static_cast<int>(sim::kPercents[i])),
                       figures.back()[i] / figures.front()[i], sim::kGrowthBar);
  sim::measure_memory();
  return 0;
}
