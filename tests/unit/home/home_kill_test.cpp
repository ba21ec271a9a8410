// A book home of processes, one of which is killed or stopped at a time, at any place: nothing that
// is read is ever torn or goes back, and nothing is stuck once all are there again.
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "common/base/random.hpp"
#include "common/link/handshake.hpp"
#include "common/stores/home/owner.hpp"
#include "common/stores/home/reader.hpp"
#include "common/stores/home/writer.hpp"
#include "common/wire/hello.hpp"
#include "tests/support/child.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::home {
namespace {

using link::test::fresh_endpoint;
using link::test::now_ns;
using link::test::open_test_device;
using test_support::Child;

constexpr std::uint32_t kSymbols = 8;
constexpr std::uint32_t kVenues = 2;
// Owner, two mdh's of venue 0, one of venue 1, two readers.
constexpr std::size_t kProcesses = 6;
constexpr std::uint64_t kWriterDeadAfterNs = 100'000'000;  // of others, also where cores are few

// The feed of a venue: every mdh of it hears the same, by the clock.
std::uint64_t feed_now() { return now_ns() / 100'000; }

// thing: venue and symbol.
std::uint32_t price_of(std::uint64_t sequence, std::uint32_t thing, std::size_t level) {
  return static_cast<std::uint32_t>((sequence * 31 + thing * 7 + level) % 1'000'000) + 1;
}

// All that the processes tell each other.
struct Told {
  std::atomic<std::uint64_t> reads, torn, back, wrong_best;
  // By venue and symbol: the newest that was read of a writer that lived.
  std::atomic<std::uint64_t> seen[kVenues][kSymbols];
  // The first one that was torn, for people.
  std::atomic<std::uint32_t> kept;
  std::uint32_t symbol, venue;
  wire::VenueBook book;
  // What each process did last, for people.
  char state[kProcesses][160];
};

wire::BookImage image_of(std::uint64_t sequence, std::uint32_t thing) {
  wire::BookImage image{};
  image.trace_id = sequence;
  image.instrument_id = thing;
  image.states = static_cast<std::uint8_t>(wire::FeedState::kGood);
  for (std::size_t level = 0; level < wire::kImageLevels; ++level) {
    image.bids[level] = {price_of(sequence, thing, level), 100, 1};
    image.asks[level] = {price_of(sequence, thing, level) + 10, 100, 1};
  }
  return image;
}

int keep(const std::string& endpoint) {
  const auto device = open_test_device();
  HomeOwner owner(*device, {.rows = 16, .venues = kVenues, .lanes = 7}, "home");
  // The one before was killed, and left its socket.
  const auto listener = device->listen(endpoint);
  const wire::Hello ours = wire::make_hello(wire::Role::kMdh, wire::Service::kHome, "mdh");
  for (;;) {
    if (const auto request = listener->next()) {
      const auto hello = link::read_program<wire::Hello>(request->hello());
      if (!hello) continue;
      try {
        if (hello->service == wire::Service::kHomeWrite)
          owner.start_accept_writer(*request, link::bytes_of(ours), "w", hello->parameters[0], {});
        else
          owner.start_accept_reader(*request, link::bytes_of(ours), {});
      } catch (const rdma::SetupError&) {
        // No lane is free: that writer asks again.
      }
    }
    owner.collect([](std::uint32_t) {});
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

unsigned long long number_of(const Counter& counter) { return counter.get(); }

int write(const std::string& endpoint, std::uint32_t venue, char (&state)[160]) {
  const auto device = open_test_device();
  HomeWriter writer(*device, nullptr,
                    {.endpoint = endpoint,
                     .name = "w",
                     .venue = venue,
                     .instruments_max = kSymbols,
                     .lease = {.dead_after_ns = kWriterDeadAfterNs}});
  for (std::uint32_t id = 0; id < kSymbols; ++id) writer.set_symbol(id, "S" + std::to_string(id));
  for (;;) {
    writer.maintain(now_ns());
    const std::uint64_t sequence = feed_now();
    for (std::uint32_t id = 0; id < kSymbols; ++id) writer.mark(id);
    for (int turn = 0; turn < 20; ++turn)
      writer.turn(now_ns(), [&](std::uint32_t id, wire::BookImage& image) noexcept {
        image = image_of(sequence, venue * kSymbols + id);
      });
    std::snprintf(state, sizeof(state),
                  "lane %llu, connections %llu, books %llu, left %llu, refused %llu %s",
                  number_of(writer.lane()), number_of(writer.counters().connections),
                  number_of(writer.counters().books), number_of(writer.counters().left),
                  number_of(writer.counters().refused), writer.not_ready_reason().c_str());
    std::this_thread::yield();
  }
}

bool whole(const wire::BookImage& image, std::uint32_t thing) {
  for (std::size_t level = 0; level < wire::kImageLevels; ++level)
    if (image.bids[level].price != price_of(image.trace_id, thing, level) ||
        image.asks[level].price != image.bids[level].price + 10)
      return false;
  return true;
}

void keep_torn(Told& told, std::uint32_t symbol, std::uint32_t venue, const wire::VenueBook& book) {
  told.torn.fetch_add(1);
  if (told.kept.exchange(1) != 0) return;
  told.symbol = symbol;
  told.venue = venue;
  told.book = book;
}

void show_torn(const Told& told) {
  if (told.kept.load() == 0) return;
  const wire::BookImage& image = told.book.image;
  const wire::Writer writer = wire::Writer::of_word(told.book.writer);
  std::printf("S%u at venue %u, sequence %llu, instrument %u, lane %u, epoch %u:\n", told.symbol,
              told.venue, static_cast<unsigned long long>(image.trace_id), image.instrument_id,
              writer.lane, writer.epoch);
  for (std::size_t i = 0; i < wire::kImageLevels; ++i)
    std::printf("  %u %u (%u)\n", image.bids[i].price, image.asks[i].price,
                price_of(image.trace_id, told.venue * kSymbols + told.symbol, i));
}

void check_best(const wire::Consolidated& book, Told& told) {
  wire::Consolidated again = book;
  consolidate(again, book.bid_venues | book.ask_venues);
  if (again.best_bid != book.best_bid || again.best_ask != book.best_ask)
    told.wrong_best.fetch_add(1);
}

// One look at everything. False: make another reader.
bool look(HomeReader& reader, Told& told) {
  for (std::uint32_t symbol = 0; symbol < kSymbols; ++symbol) {
    std::uint32_t row = 0;
    const ReadOutcome found = reader.find("S" + std::to_string(symbol), row);
    if (found == ReadOutcome::kFailed) return false;
    if (found != ReadOutcome::kOk) continue;
    wire::Consolidated best;
    const ReadOutcome best_read = reader.consolidated(row, best);
    if (best_read == ReadOutcome::kFailed) return false;
    if (best_read == ReadOutcome::kOk) check_best(best, told);
    for (std::uint32_t venue = 0; venue < kVenues; ++venue) {
      BookRead read;
      const std::uint64_t before = told.seen[venue][symbol].load();
      const ReadOutcome outcome = reader.book(row, venue, read);
      if (outcome == ReadOutcome::kFailed) return false;
      if (outcome != ReadOutcome::kOk) continue;
      told.reads.fetch_add(1);
      const wire::BookImage& image = read.book.image;
      if (!whole(image, venue * kSymbols + symbol)) keep_torn(told, symbol, venue, read.book);
      if (!read.alive) continue;
      if (image.trace_id < before) told.back.fetch_add(1);
      std::uint64_t newest = told.seen[venue][symbol].load();
      while (newest < image.trace_id &&
             !told.seen[venue][symbol].compare_exchange_weak(newest, image.trace_id)) {
      }
    }
  }
  return true;
}

int read(const std::string& endpoint, Told& told) {
  const auto device = open_test_device();
  for (;;) {
    try {
      HomeReader reader(*device, endpoint, "r", wire::Role::kTool);
      while (look(reader, told)) std::this_thread::yield();
    } catch (const rdma::SetupError&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

class Processes {
 public:
  static constexpr std::size_t kCount = kProcesses;
  explicit Processes(Told& told) : told_(told) {
    for (std::size_t i = 0; i < kCount; ++i) start(i);
  }
  void start(std::size_t which) {
    all_[which] = std::make_unique<Child>([&, which] {
      if (which == 0) return keep(endpoint_);
      if (which <= 3) return write(endpoint_, which == 3 ? 1 : 0, told_.state[which]);
      return read(endpoint_, told_);
    });
  }
  const Child& operator[](std::size_t which) const { return *all_[which]; }
  // A line each: whether the process lives, and what it did last.
  std::string states() const {
    std::string text;
    for (std::size_t i = 0; i < kCount; ++i) {
      siginfo_t ended{};
      (void)::waitid(P_PID, static_cast<id_t>(all_[i]->id()), &ended, WEXITED | WNOHANG | WNOWAIT);
      text += "\n  " + std::to_string(i) + ": " +
              (ended.si_pid == 0 ? "lives" : "ended: " + std::to_string(ended.si_status)) + "; " +
              told_.state[i];
    }
    return text;
  }
  void kill(std::size_t which) { all_[which]->kill(); }

 private:
  Told& told_;
  std::string endpoint_ = fresh_endpoint();
  std::array<std::unique_ptr<Child>, kCount> all_;
};

void pause_ms(std::uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::uint64_t variable_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string missing(const Told& told, std::uint64_t since) {
  std::string text;
  for (std::size_t venue = 0; venue < kVenues; ++venue)
    for (std::size_t symbol = 0; symbol < kSymbols; ++symbol)
      if (told.seen[venue][symbol].load() < since)
        text += " venue " + std::to_string(venue) + " S" + std::to_string(symbol);
  return text;
}

void run_seed(std::uint64_t seed, Told& told) {
  Random random(seed);
  Processes processes(told);
  for (int fault = 0; fault < 4; ++fault) {
    pause_ms(random.below(40));
    const std::size_t which = random.below(Processes::kCount);
    const bool kill = random.below(2) == 0;
    if (variable_of("TICKPATH_HOME_SHOW", 0) != 0)
      std::printf("%s %zu\n", kill ? "kill" : "stop", which);
    if (kill) {
      processes.kill(which);
      pause_ms(random.below(60));
      processes.start(which);
    } else {
      processes[which].signal(SIGSTOP);
      pause_ms(random.below(300));
      processes[which].signal(SIGCONT);
    }
  }
  const std::uint64_t now = feed_now();
  EXPECT_TRUE(test_support::wait_until([&] {
    for (const auto& venue : told.seen)
      for (const auto& symbol : venue)
        if (symbol.load() < now) return false;
    return true;
  })) << "something is stuck: "
      << missing(told, now) << processes.states();
}

// By hand, from 1 on: TICKPATH_HOME_SEEDS=200 TICKPATH_HOME_SEED=1 unit_home
// --gtest_filter='HomeKills*'
TEST(HomeKills, NothingIsTornAndNothingStuckWhateverIsKilled) {
  if (test_support::kSanitized || link::test::over_network())
    GTEST_SKIP() << "processes that are forked without exec";
  const std::uint64_t seeds = variable_of("TICKPATH_HOME_SEEDS", 3);
  const std::uint64_t first = variable_of("TICKPATH_HOME_SEED", 1);
  void* const memory =
      ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Told& told = *new (memory) Told{};
  for (std::uint64_t seed = first; seed < first + seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_seed(seed, told);
    EXPECT_EQ(told.torn.load(), 0u);
    EXPECT_EQ(told.back.load(), 0u);
    EXPECT_EQ(told.wrong_best.load(), 0u);
  }
  show_torn(told);
  std::printf("%llu seeds, %llu books read\n", static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(told.reads.load()));
  ::munmap(memory, sizeof(Told));
}

}  // namespace
}  // namespace tickpath::home
