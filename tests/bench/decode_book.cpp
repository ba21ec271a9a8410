// What a feed message costs from its bytes to the new best quote: decode plus full order book, with
// the code that mdh runs (mdh/book_handler.hpp), on a generated recording. And what it costs all of
// mdh's feed, from packets to updates that nobody takes: with all symbols, and with one shard of
// them, to which most messages are others'.
//
//   decode_book [--quick] [--messages N] [--symbols N]
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <time.h>

#include "common/base/cpu.hpp"
#include "common/book/book.hpp"
#include "common/clock/clock.hpp"
#include "common/feeds/generator/generator.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "mdh/arbiter.hpp"
#include "mdh/book_handler.hpp"
#include "mdh/feed.hpp"
#include "mdh/notes.hpp"
#include "tests/bench/report.hpp"
#include "tests/support/generated_messages.hpp"

namespace tickpath {
namespace {

using Message = std::span<const std::byte>;
using Messages = std::span<const Message>;

struct Input {
  std::vector<std::byte> bytes;
  std::vector<Message> messages;
  std::vector<Messages> bursts;  // what mdh takes from its socket at once
  std::vector<std::vector<std::byte>> packets;
};

// Bursts as mdh sees them when it is busy: 16 packets (its default feed.batch) filled to the brim.
constexpr std::size_t kBurstBytes = 16 * itch::mold::kMaxPacketBytes;

Input make_input(std::uint32_t symbols, std::uint64_t messages) {
  Input input;
  itch::GeneratorOptions options;
  options.symbols = symbols;
  options.messages = messages;
  input.bytes = test_support::generate_framed(options);
  itch::FrameCursor cursor(input.bytes);
  for (Message message; cursor.next(message) == itch::FrameStatus::kMessage;)
    input.messages.push_back(message);
  const Messages all(input.messages);
  for (std::size_t first = 0, at = 0, bytes = 0; at <= all.size(); ++at) {
    if (at < all.size() && (at == first || bytes + all[at].size() + 2 <= kBurstBytes)) {
      bytes += all[at].size() + 2;
      continue;
    }
    input.bursts.push_back(all.subspan(first, at - first));
    if (at == all.size()) break;
    first = at--;
    bytes = 0;
  }
  std::array<std::byte, itch::mold::kMaxPacketBytes> buffer{};
  for (std::size_t at = 0; at < all.size();) {
    itch::mold::PacketBuilder builder(buffer);
    builder.begin(itch::mold::Session("S"), at + 1);
    while (at < all.size() && builder.append(all[at])) ++at;
    const auto made = builder.finish();
    input.packets.emplace_back(made.begin(), made.end());
  }
  return input;
}

// The best quote of the symbol concerned: what mdh publishes with each message.
[[gnu::always_inline]] inline std::uint64_t use(const book::LevelBookSet& books,
                                                const mdh::Event& event) {
  const book::Quote bid = books.best(event.locate, Side::kBuy);
  const book::Quote ask = books.best(event.locate, Side::kSell);
  return bid.price + bid.shares + ask.price + ask.shares + event.shares;
}

// A stretch of work in ns a message: by the clock on the wall, and in CPU time of this thread. They
// differ when other programs want the core; then only the latter says what the work costs.
struct Cost {
  double wall_ns = 1e9;
  double cpu_ns = 1e9;
};

std::uint64_t thread_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class Stopwatch {
 public:
  // Since construction; keeps the smaller of this and `best`.
  void lap(std::size_t messages, Cost& best) const {
    const auto count = static_cast<double>(messages);
    best.cpu_ns = std::min(best.cpu_ns, static_cast<double>(thread_cpu_ns() - cpu_) / count);
    best.wall_ns =
        std::min(best.wall_ns, static_cast<double>(clock::monotonic_ns() - wall_) / count);
  }

 private:
  std::int64_t wall_ = clock::monotonic_ns();
  std::uint64_t cpu_ = thread_cpu_ns();
};

enum class Mode { kBursts, kSingle };

// The whole recording, from an empty book. `checksum` keeps the work alive and proves that all runs
// did the same.
void run(const Input& input, Mode mode, std::uint64_t& checksum, Cost& best) {
  const auto books = std::make_unique<book::LevelBookSet>(book::Options{});
  mdh::BookHandler handler(*books);
  mdh::Lookahead lookahead(*books);
  checksum = 0;
  const Stopwatch watch;
  if (mode == Mode::kBursts) {
    for (const Messages burst : input.bursts) {
      lookahead.begin(burst);
      for (std::size_t i = 0; i < burst.size(); ++i) {
        lookahead.step(burst, i);
        (void)itch::decode(burst[i], handler);
        checksum += use(*books, handler.event());
      }
    }
  } else {
    for (const Message message : input.messages) {
      (void)itch::decode(message, handler);
      checksum += use(*books, handler.event());
    }
  }
  watch.lap(input.messages.size(), best);
}

class NoSink final : public mdh::UpdateSink {
 public:
  void publish(const wire::BookUpdate& update) noexcept override { checksum += update.best_bid; }
  void mark_dirty(std::uint32_t) noexcept override {}
  void store_row(std::uint32_t, const wire::DirectoryEntry&) noexcept override {}
  std::uint64_t checksum = 0;
};

// mdh's arbiter and feed without sockets and fabric. The share of messages that were others'.
double run_feed(const Input& input, wire::Shard shard, Cost& best) {
  constexpr std::size_t kPacketsABurst = 16;
  mdh::FeedOptions options;
  options.shard = shard;
  NoSink sink;
  trace::TraceWriter trace{trace::TraceOptions{}};
  log::HotLog log;
  mdh::define_notes(log);
  mdh::Feed feed(options, sink, trace, log);
  mdh::Arbiter arbiter({}, feed, nullptr, nullptr, log);
  const Stopwatch watch;
  for (std::size_t i = 0; i < input.packets.size(); ++i) {
    arbiter.collect(mdh::Line::kA, input.packets[i], {0, TscTicks{i + 1}});
    if ((i + 1) % kPacketsABurst == 0) arbiter.process(TscTicks{i + 1});
  }
  arbiter.flush();
  watch.lap(input.messages.size(), best);
  return static_cast<double>(feed.counters().other_shards.get()) /
         static_cast<double>(input.messages.size());
}

void print_feeds(const Input& input, int repeats) {
  Cost whole, shard;
  double others = 0;
  for (int i = 0; i < repeats; ++i) {
    (void)run_feed(input, {1, 1}, whole);
    others = run_feed(input, {1, wire::kShardsMax}, shard);
  }
  std::printf("  all of mdh's feed                    %6.1f (%.1f)\n", whole.cpu_ns, whole.wall_ns);
  std::printf("  the same, %4.1f %% another shard's    %6.1f (%.1f)\n", 100 * others, shard.cpu_ns,
              shard.wall_ns);
}

void sample(const Input& input, bench::Samples& samples) {
  const auto books = std::make_unique<book::LevelBookSet>(book::Options{});
  mdh::BookHandler handler(*books);
  mdh::Lookahead lookahead(*books);
  std::uint64_t checksum = 0;
  for (const Messages burst : input.bursts) {
    lookahead.begin(burst);
    for (std::size_t i = 0; i < burst.size(); ++i) {
      const std::uint64_t begin = tsc_now().value;
      lookahead.step(burst, i);
      (void)itch::decode(burst[i], handler);
      checksum += use(*books, handler.event());
      samples.add(tsc_now().value - begin);
    }
  }
  if (checksum == 1) std::puts("");  // the work must not be optimised away
}

void decode_only(const Input& input, Cost& best) {
  std::uint64_t checksum = 0;
  const Stopwatch watch;
  for (const Message message : input.messages) {
    (void)itch::decode(message, [&checksum](const auto& m) {
      checksum += m.header.stock_locate + m.header.timestamp;
    });
  }
  watch.lap(input.messages.size(), best);
  if (checksum == 1) std::puts("");
}

int main_of(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  const auto symbols =
      static_cast<std::uint32_t>(bench::option(argc, argv, "--symbols", quick ? 50 : 1'000));
  const std::uint64_t count = bench::option(argc, argv, "--messages", quick ? 50'000 : 5'000'000);
  const int repeats = quick ? 2 : 5;
  bench::print_environment("decode and book a feed message");
  const Input input = make_input(symbols, count);
  std::printf(
      "generated: %zu messages, %u symbols, %zu bursts of %.0f messages on average\n",
      input.messages.size(), symbols, input.bursts.size(),
      static_cast<double>(input.messages.size()) / static_cast<double>(input.bursts.size()));

  Cost bursts;
  Cost singles;
  Cost decoding;
  std::uint64_t checksums[2] = {0, 0};
  for (int i = 0; i < repeats; ++i) {
    decode_only(input, decoding);
    run(input, Mode::kBursts, checksums[0], bursts);
    run(input, Mode::kSingle, checksums[1], singles);
  }
  if (checksums[0] != checksums[1]) {
    std::puts("the two ways disagree: the book is broken");
    return 1;
  }
  std::printf("whole recording, ns a message, best of %d (generated): CPU time (wall)\n", repeats);
  std::printf("  decode only                          %6.1f (%.1f)\n", decoding.cpu_ns,
              decoding.wall_ns);
  std::printf("  decode and book, message by message  %6.1f (%.1f)\n", singles.cpu_ns,
              singles.wall_ns);
  std::printf("  decode and book, in bursts           %6.1f (%.1f)\n", bursts.cpu_ns,
              bursts.wall_ns);
  print_feeds(input, repeats);
  bench::print_against("decode and book, in bursts as mdh does, CPU time", bursts.cpu_ns, 60);

  bench::Samples samples(input.messages.size());
  sample(input, samples);
  samples.print("one message in a burst", "generated; each sample includes one TSC read");
  return 0;
}

}  // namespace
}  // namespace tickpath

int main(int argc, char** argv) { return tickpath::main_of(argc, argv); }
