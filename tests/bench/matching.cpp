// What the matching core costs a command: recorded events and orders of our own, on a generated
// recording, through the code that sim runs (sim/market, sim/matching).
//
//   matching [--quick]
//
// Two runs each: one untimed inside, for the throughput; one with a sample a command, for the tail.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "common/base/cpu.hpp"
#include "common/base/random.hpp"
#include "common/clock/clock.hpp"
#include "common/feeds/generator/generator.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "common/wire/order_id.hpp"
#include "sim/market/market.hpp"
#include "tests/bench/report.hpp"
#include "tests/support/generated_messages.hpp"

namespace tickpath::sim {
namespace {

constexpr double kBarPerSecond = 5e6;
constexpr double kBarTailNs = 2'000;
constexpr std::uint8_t kStrategy = 1;

// Everything is reported, as to a session; nothing is sent.
struct CountingSink final : ReportSink {
  std::uint64_t reports = 0, fills = 0;
  void on_report(const Report& report) noexcept override {
    ++reports;
    if (report.kind == wire::ReportKind::kFill) ++fills;
  }
};

// Copies each message once, as into a packet.
struct CopyingOutlet final : FeedOutlet {
  std::array<std::byte, itch::kMaxMessageBytes> last{};
  std::uint64_t messages = 0;
  void publish(std::span<const std::byte> message) noexcept override {
    std::memcpy(last.data(), message.data(), std::min(message.size(), last.size()));
    ++messages;
  }
};

// One command: a message of the recording, or, every `every` of them, a request of ours: new limit
// orders at and through the best price, replaced or cancelled some commands later.
class Flow {
 public:
  Flow(const std::vector<std::span<const std::byte>>& messages, std::uint32_t every, bool publish)
      : messages_(messages), every_(every), matcher_(options(), sink_), market_(matcher_) {
    if (publish) market_.publish_to(outlet_);
  }

  std::size_t commands() const { return messages_.size(); }
  [[gnu::noinline]] void command(std::size_t at) {
    if (every_ == 0 || at % every_ != 0 || at == 0) return market_.apply(messages_[at]);
    market_.apply(messages_[at]);
    const std::uint32_t locate = itch::stock_locate(messages_[at].data());
    if (last_id_ != 0 && random_.chance(0.5)) {
      const CancelOrder cancel{next_id(), last_id_, last_locate_, party(), last_side_};
      last_id_ = 0;
      return matcher_.cancel(cancel);
    }
    const Side side = random_.chance(0.5) ? Side::kBuy : Side::kSell;
    const book::Quote best = matcher_.book().best(static_cast<Locate>(locate), side);
    if (best.shares == 0) return;
    NewOrder order;
    order.order_id = last_id_ = next_id();
    order.price = {static_cast<std::int64_t>(best.price)};
    order.locate = last_locate_ = locate;
    order.shares = 100 + random_.below(400);
    order.party = party();
    order.side = last_side_ = side;
    matcher_.enter(order);
  }
  const CountingSink& sink() const { return sink_; }
  const CopyingOutlet& outlet() const { return outlet_; }

 private:
  static MatcherOptions options() {
    MatcherOptions made;
    made.book = {.orders_max = 1u << 21, .levels_max = 1u << 19};
    made.live_orders_max = 1u << 18;
    made.order_ids_max = 1u << 21;
    return made;
  }
  std::uint64_t next_id() { return wire::OrderId::make(kStrategy, 1, ++ids_); }
  static Party party() {
    Party made{};
    made.strategy = kStrategy;
    return made;
  }

  const std::vector<std::span<const std::byte>>& messages_;
  std::uint32_t every_;
  CountingSink sink_;
  CopyingOutlet outlet_;
  Matcher matcher_;
  Market market_;
  Random random_{7};
  std::uint32_t ids_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint32_t last_locate_ = 0;
  Side last_side_ = Side::kBuy;
};

void run(const char* label, const std::vector<std::span<const std::byte>>& messages,
         std::uint32_t every, bool publish) {
  double best_ns = 1e9;
  for (int round = 0; round < 3; ++round) {
    const auto flow = std::make_unique<Flow>(messages, every, publish);
    const std::int64_t start = clock::monotonic_ns();
    for (std::size_t at = 0; at < flow->commands(); ++at) flow->command(at);
    best_ns = std::min(best_ns, static_cast<double>(clock::monotonic_ns() - start) /
                                    static_cast<double>(flow->commands()));
  }
  const auto flow = std::make_unique<Flow>(messages, every, publish);
  bench::Samples samples(messages.size());
  for (std::size_t at = 0; at < flow->commands(); ++at) {
    const std::uint64_t before = tsc_now().value;
    flow->command(at);
    samples.add(tsc_now().value - before);
  }
  samples.print(label);
  std::printf(
      "%s: %.2f million commands a second (bar %.0f: %s), %.1f ns each; reports %llu, fills %llu, "
      "published %llu\n",
      label, 1e3 / best_ns, kBarPerSecond / 1e6, 1e9 / best_ns >= kBarPerSecond ? "met" : "not met",
      best_ns, static_cast<unsigned long long>(flow->sink().reports),
      static_cast<unsigned long long>(flow->sink().fills),
      static_cast<unsigned long long>(flow->outlet().messages));
  bench::print_against("p99.9 a command", samples.percentile_ns(99.9), kBarTailNs);
}

}  // namespace
}  // namespace tickpath::sim

int main(int argc, char** argv) {
  using namespace tickpath;
  const bool quick = bench::is_quick(argc, argv);
  bench::print_environment("matching: a command through the matching core, generated recording");
  itch::GeneratorOptions options;
  options.symbols = 1'000;
  options.messages = quick ? 50'000 : 5'000'000;
  const std::vector<std::byte> bytes = test_support::generate_framed(options);
  std::vector<std::span<const std::byte>> messages;
  itch::FrameCursor cursor(bytes);
  for (std::span<const std::byte> message; cursor.next(message) == itch::FrameStatus::kMessage;)
    messages.push_back(message);
  for (const bool publish : {false, true}) {
    sim::run(publish ? "recorded flow alone, published" : "recorded flow alone", messages, 0,
             publish);
    sim::run(publish ? "with an order of ours every 10 messages, published"
                     : "with an order of ours every 10 messages",
             messages, 10, publish);
  }
  return 0;
}
