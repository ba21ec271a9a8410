// A book home with several writers and a reader, on the fabric.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/link/handshake.hpp"
#include "common/stores/home/owner.hpp"
#include "common/stores/home/reader.hpp"
#include "common/stores/home/writer.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/hello.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::home {
namespace {

using link::test::Fabric;
using link::test::now_ns;

constexpr std::uint32_t kInstruments = 64;
// Guests with verbs are emulated: a turn takes milliseconds there.
const std::uint64_t kSoonDeadNs = link::test::over_network() ? 2'000'000'000 : 20'000'000;

// An mdh as far as the home is concerned: symbols, and what it would put into their images.
class Mdh {
 public:
  Mdh(rdma::Device& device, const std::string& endpoint, std::uint32_t venue,
      std::uint64_t dead_after_ns = 3'600'000'000'000)
      : writer_(device, nullptr,
                {.endpoint = endpoint,
                 .name = "mdh",
                 .venue = venue,
                 .instruments_max = kInstruments,
                 .lease = {.interval_ns = 200'000, .dead_after_ns = dead_after_ns}}) {}

  void list(std::uint32_t id, std::string_view symbol) { writer_.set_symbol(id, symbol); }
  void quote(std::uint32_t id, std::uint32_t bid, std::uint32_t ask,
             wire::FeedState state = wire::FeedState::kGood) {
    wire::BookImage& image = images_[id];
    ++image.trace_id;
    image.instrument_id = id;
    image.states = static_cast<std::uint8_t>(
        static_cast<unsigned>(state) | static_cast<unsigned>(wire::TradingState::kTrading) << 4);
    image.bids[0] = {bid, bid == 0 ? 0u : 100u, 1};
    image.asks[0] = {ask, ask == 0 ? 0u : 200u, 1};
    writer_.mark(id);
  }
  void turn() {
    writer_.turn(now_ns(), [this](std::uint32_t id, wire::BookImage& image) noexcept {
      image = images_[id];
    });
  }
  void maintain() { writer_.maintain(now_ns()); }
  HomeWriter& writer() noexcept { return writer_; }
  std::string standing() const {
    const HomeWriterCounters& of = counters();
    return "reason '" + writer_.not_ready_reason() + "', " + (writer_.busy() ? "busy" : "idle") +
           ", connections " + std::to_string(of.connections.get()) + ", claimed " +
           std::to_string(of.claimed.get()) + ", left " + std::to_string(of.left.get()) +
           ", refused " + std::to_string(of.refused.get()) + ", books " +
           std::to_string(of.books.get()) + " (lost " + std::to_string(of.books_lost.get()) +
           "), quotes " + std::to_string(of.quotes.get()) + " (lost " +
           std::to_string(of.quotes_lost.get()) + ")";
  }
  const HomeWriterCounters& counters() const noexcept { return writer_.counters(); }
  bool idle() const noexcept { return writer_.not_ready_reason().empty() && !writer_.busy(); }

 private:
  HomeWriter writer_;
  std::map<std::uint32_t, wire::BookImage> images_;
};

class BookHome : public testing::Test {
 protected:
  static constexpr HomeShape kShape{.rows = 16, .venues = 3, .lanes = 3};

  void open(const HomeShape& shape = kShape) {
    owner = std::make_unique<HomeOwner>(*fabric.device, shape, "home");
  }
  Mdh& add(std::uint32_t venue, std::uint64_t dead_after_ns = 3'600'000'000'000) {
    return *mdhs.emplace_back(
        std::make_unique<Mdh>(*fabric.device, fabric.endpoint, venue, dead_after_ns));
  }
  // What the control thread of the owner does, and everybody's turns but those of `hung`.
  void turn() {
    if (owner != nullptr) serve();
    for (const auto& mdh : mdhs) {
      mdh->maintain();
      if (mdh.get() != hung) mdh->turn();
    }
  }
  void serve() {
    if (const auto request = fabric.listener->next()) {
      const auto hello = link::read_program<wire::Hello>(request->hello());
      ASSERT_TRUE(hello.has_value());
      const wire::Hello ours = wire::make_hello(wire::Role::kMdh, hello->service, "mdh");
      try {
        if (hello->service == wire::Service::kHomeWrite)
          owner->start_accept_writer(*request, link::bytes_of(ours), wire::name_of(*hello),
                                     hello->parameters[0], {});
        else
          owner->start_accept_reader(*request, link::bytes_of(ours), {});
      } catch (const rdma::SetupError& error) {
        refusals.emplace_back(error.what());
      }
    }
    owner->collect([this](std::uint32_t lane) {
      for (const auto& mdh : mdhs) mdh->writer().end_lane(lane);
    });
  }
  template <class Done>
  bool turns_until(Done&& done) {
    return test_support::turn_until(done, [this] { turn(); });
  }
  testing::AssertionResult settle() {
    const auto settled = [this](const auto& mdh) { return mdh.get() == hung || mdh->idle(); };
    if (turns_until([&] { return std::ranges::all_of(mdhs, settled); }))
      return testing::AssertionSuccess();
    testing::AssertionResult what = testing::AssertionFailure();
    for (const auto& mdh : mdhs) what << mdh->standing() << "; ";
    for (const std::string& refusal : refusals) what << "refused: " << refusal << "; ";
    return what;
  }
  // Connects while the owner turns.
  HomeReader& reader() {
    if (reader_ != nullptr) return *reader_;
    std::atomic<bool> done{false};
    std::thread connecting([&] {
      reader_ = std::make_unique<HomeReader>(*fabric.device, fabric.endpoint, "reader",
                                             wire::Role::kTool);
      done = true;
    });
    EXPECT_TRUE(turns_until([&] { return done.load(); }));
    connecting.join();
    return *reader_;
  }
  wire::Consolidated consolidated(std::string_view symbol) {
    wire::Consolidated out{};
    std::uint32_t row = 0;
    EXPECT_EQ(reader().find(symbol, row), ReadOutcome::kOk) << symbol;
    EXPECT_EQ(reader().consolidated(row, out), ReadOutcome::kOk) << symbol;
    return out;
  }
  BookRead book(std::string_view symbol, std::uint32_t venue) {
    BookRead out{};
    std::uint32_t row = 0;
    EXPECT_EQ(reader().find(symbol, row), ReadOutcome::kOk) << symbol;
    EXPECT_EQ(reader().book(row, venue, out), ReadOutcome::kOk) << symbol;
    return out;
  }

  Fabric fabric{test_support::open_test_device("mdh")};
  std::unique_ptr<HomeOwner> owner;
  std::vector<std::unique_ptr<Mdh>> mdhs;
  std::unique_ptr<HomeReader> reader_;
  Mdh* hung = nullptr;
  std::vector<std::string> refusals;
};

TEST_F(BookHome, ShowsTheBooksOfAllVenuesAndTheBestOfThem) {
  open();
  Mdh& one = add(0);
  Mdh& two = add(2);
  one.list(5, "AAPL");
  two.list(9, "AAPL");
  two.list(1, "MSFT");
  one.quote(5, 100'0000, 100'0300);
  two.quote(9, 100'0100, 100'0200);
  two.quote(1, 50'0000, 0);
  ASSERT_TRUE(settle());

  const wire::Consolidated apple = consolidated("AAPL");
  EXPECT_EQ(wire::symbol_text(apple.symbol), "AAPL");
  EXPECT_EQ(apple.best_bid, 100'0100u);
  EXPECT_EQ(apple.best_ask, 100'0200u);
  EXPECT_EQ(apple.bid_venues, 1u << 2);
  EXPECT_EQ(apple.ask_venues, 1u << 2);
  EXPECT_EQ(apple.flags, 0);
  EXPECT_EQ(apple.venues[0].bid, 100'0000u);
  EXPECT_EQ(apple.venues[1].bid, 0u);
  EXPECT_EQ(consolidated("MSFT").best_ask, 0u);
  const BookRead at_two = book("AAPL", 2);
  EXPECT_TRUE(at_two.alive);
  EXPECT_EQ(at_two.book.image.instrument_id, 9u) << "as the venue's mdh knows it";
  EXPECT_EQ(at_two.book.image.asks[0].shares, 200u);

  std::uint32_t row = 0;
  BookRead none;
  EXPECT_EQ(reader().find("NOBODY", row), ReadOutcome::kAbsent);
  ASSERT_EQ(reader().find("MSFT", row), ReadOutcome::kOk);
  EXPECT_EQ(reader().book(row, 0, none), ReadOutcome::kAbsent);
}

TEST_F(BookHome, TellsLockedAndCrossedMarkets) {
  open();
  Mdh& one = add(0);
  Mdh& two = add(1);
  one.list(0, "A");
  two.list(0, "A");
  one.quote(0, 10'0000, 10'0100);
  two.quote(0, 9'9900, 10'0000);
  ASSERT_TRUE(settle());
  EXPECT_EQ(consolidated("A").flags, wire::kLocked);
  two.quote(0, 9'9800, 9'9900);
  ASSERT_TRUE(settle());
  EXPECT_EQ(consolidated("A").flags, wire::kCrossed);
  two.quote(0, 10'0000, 10'0100);
  ASSERT_TRUE(settle());
  const wire::Consolidated equal = consolidated("A");
  EXPECT_EQ(equal.flags, 0);
  EXPECT_EQ(equal.bid_venues, 3u);
  EXPECT_EQ(equal.best_bid_shares, 200u) << "of both";
  two.quote(0, 10'0050, 10'0100, wire::FeedState::kStale);
  ASSERT_TRUE(settle());
  EXPECT_EQ(consolidated("A").best_bid, 10'0000u) << "a stale venue does not count";
}

TEST_F(BookHome, AWriterThatEndsNoLongerCounts) {
  open();
  Mdh& one = add(0);
  one.list(0, "A");
  one.quote(0, 10'0000, 10'0100);
  Mdh& two = add(1);
  two.list(0, "A");
  two.quote(0, 10'0050, 10'0080);
  ASSERT_TRUE(settle());
  EXPECT_EQ(consolidated("A").best_bid, 10'0050u);
  mdhs.pop_back();
  ASSERT_TRUE(turns_until([&] { return !book("A", 1).alive; }));
  const wire::Consolidated left = consolidated("A");
  EXPECT_EQ(left.best_bid, 10'0000u);
  EXPECT_EQ(left.bid_venues, 1u);
  EXPECT_EQ(book("A", 1).book.image.bids[0].price, 10'0050u) << "as it was, and said to be old";
}

// The slots of a lane are named by its venue's guards, also when its writer is gone.
TEST_F(BookHome, ALaneStaysWithItsVenue) {
  open({.rows = 4, .venues = 2, .lanes = 2});
  Mdh& one = add(0);
  one.list(0, "A");
  one.quote(0, 10'0000, 10'0100);
  ASSERT_TRUE(settle());
  mdhs.clear();
  ASSERT_TRUE(turns_until([&] { return owner->writers().empty(); }));
  Mdh& other = add(1, kSoonDeadNs);
  other.list(0, "A");
  for (std::uint32_t bid = 20'0000; bid < 20'0010; ++bid) {
    other.quote(0, bid, 30'0000);
    ASSERT_TRUE(settle());
  }
  EXPECT_EQ(book("A", 0).book.image.bids[0].price, 10'0000u);
  EXPECT_TRUE(turns_until([&] { return !book("A", 0).alive; }));
  EXPECT_EQ(book("A", 1).book.image.bids[0].price, 20'0009u);
  // Venue 0 gets its own again.
  Mdh& again = add(0);
  again.list(0, "A");
  again.quote(0, 11'0000, 12'0000);
  ASSERT_TRUE(settle());
  EXPECT_EQ(book("A", 0).book.image.bids[0].price, 11'0000u);
}

// Two mdh's of one venue: the second one's books count when the first hangs, and not what the first
// says when it goes on.
TEST_F(BookHome, OfTwoWritersOfAVenueTheOtherTakesOver) {
  open();
  Mdh& first = add(0);
  first.list(0, "A");
  first.list(1, "B");
  first.quote(0, 1'0000, 2'0000);
  ASSERT_TRUE(settle());
  Mdh& second = add(0, kSoonDeadNs);
  second.list(0, "A");
  second.list(1, "B");
  second.quote(0, 1'0000, 2'0000);
  ASSERT_TRUE(settle());
  EXPECT_EQ(second.counters().claimed.get(), 0u);
  EXPECT_EQ(second.counters().left.get(), 2u);

  hung = &first;
  second.quote(0, 3'0000, 4'0000);
  ASSERT_TRUE(turns_until([&] { return second.counters().claimed.get() == 2; }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(second.writer().lease_counters().others.get(), 1u);
  EXPECT_EQ(book("A", 0).book.image.bids[0].price, 3'0000u);
  EXPECT_TRUE(book("A", 0).alive);
  EXPECT_EQ(consolidated("A").best_bid, 3'0000u);

  hung = nullptr;
  first.quote(0, 7'0000, 8'0000);
  ASSERT_TRUE(turns_until([&] { return first.counters().left.get() >= 2; }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(first.writer().lease_counters().ended.get(), 1u);
  EXPECT_EQ(book("A", 0).book.image.bids[0].price, 3'0000u);
  EXPECT_EQ(consolidated("A").best_bid, 3'0000u);
}

// The claim of a symbol takes some turns: what the sweep has passed by then is not forgotten.
TEST_F(BookHome, AWriterThatEndsWhileItsSymbolsAreLookedForIsTakenOverWhole) {
  for (int turns = 0; turns < 8; ++turns) {
    mdhs.clear();
    reader_.reset();
    owner.reset();
    open();
    Mdh& first = add(0);
    for (std::uint32_t id = 0; id < kShape.rows; ++id) {
      first.list(id, "S" + std::to_string(id));
      first.quote(id, 1'0000, 2'0000);
    }
    ASSERT_TRUE(settle());
    Mdh& second = add(0, kSoonDeadNs);
    for (std::uint32_t id = 0; id < kShape.rows; ++id) second.list(id, "S" + std::to_string(id));
    ASSERT_TRUE(turns_until([&] { return second.counters().connections.get() == 1; }));
    for (int i = 0; i < turns; ++i) turn();
    mdhs.erase(mdhs.begin());
    EXPECT_TRUE(turns_until([&] { return second.counters().claimed.get() == kShape.rows; }))
        << turns << " turns: " << second.standing();
  }
}

// A writer that has named a symbol is waited for some time, and then another one gives the symbol a
// row. Whatever step the slow one stood at, there is a row for each symbol in the end.
TEST_F(BookHome, AWriterThatIsSlowWhileItGivesARowUsesNoneUp) {
  for (int turns = 0; turns < 12; ++turns) {
    hung = nullptr;
    mdhs.clear();
    owner.reset();
    open({.rows = 2, .venues = 2, .lanes = 2});
    Mdh& slow = add(0);
    slow.list(0, "A");
    slow.list(1, "B");
    ASSERT_TRUE(turns_until([&] { return slow.counters().connections.get() == 1; }));
    for (int i = 0; i < turns; ++i) slow.turn();
    hung = &slow;
    Mdh& quick = add(1);
    quick.list(0, "A");
    ASSERT_TRUE(turns_until([&] { return quick.counters().claimed.get() == 1; }));
    hung = nullptr;
    ASSERT_TRUE(turns_until([&] {
      return slow.counters().claimed.get() + slow.counters().refused.get() == 2;
    })) << slow.standing();
    EXPECT_EQ(slow.counters().refused.get(), 0u) << turns << " turns: " << slow.standing();
  }
}

// Two mdh's of one venue, each with the symbols of its shard: neither has anything to do with those
// of the other, though that one's writer is gone and its lane another's.
TEST_F(BookHome, ShardsOfAVenueWriteTheirOwnSymbolsAndTakeNoOthers) {
  open({.rows = 8, .venues = 1, .lanes = 2});
  Mdh& first = add(0, kSoonDeadNs);
  first.list(0, "A");
  first.quote(0, 1'0000, 2'0000);
  add(0).list(0, "B");
  mdhs.back()->quote(0, 5'0000, 6'0000);
  ASSERT_TRUE(settle());
  EXPECT_EQ(book("A", 0).book.image.bids[0].price, 1'0000u);
  EXPECT_EQ(book("B", 0).book.image.bids[0].price, 5'0000u);
  mdhs.pop_back();
  ASSERT_TRUE(turns_until([&] { return !book("B", 0).alive; }));
  first.quote(0, 1'5000, 2'0000);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(book("A", 0).alive);
  EXPECT_EQ(first.counters().claimed.get(), 1u) << "B is the other's, whoever that is";
  EXPECT_EQ(first.counters().left.get(), 0u);
  Mdh& again = add(0);
  again.list(0, "B");
  again.quote(0, 5'5000, 6'0000);
  ASSERT_TRUE(settle());
  EXPECT_EQ(book("B", 0).book.image.bids[0].price, 5'5000u);
  EXPECT_TRUE(book("B", 0).alive);
  EXPECT_EQ(book("A", 0).book.image.bids[0].price, 1'5000u);
}

TEST_F(BookHome, IsFilledAnewWhenItsOwnerComesBack) {
  open();
  Mdh& one = add(0);
  one.list(3, "A");
  one.quote(3, 1'0000, 2'0000);
  ASSERT_TRUE(settle());
  owner.reset();
  ASSERT_TRUE(turns_until([&] {
    return one.writer().not_ready_reason().starts_with("waiting for the book home at " +
                                                       fabric.endpoint + ": ");
  })) << one.standing();
  one.quote(3, 1'5000, 2'0000);
  open();
  ASSERT_TRUE(turns_until([&] { return one.counters().connections.get() == 2; }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(consolidated("A").best_bid, 1'5000u);
}

TEST_F(BookHome, RefusesWhatItHasNoRoomFor) {
  open({.rows = 2, .venues = 1, .lanes = 1});
  Mdh& one = add(0);
  for (std::uint32_t id = 0; id < 4; ++id) {
    one.list(id, "S" + std::to_string(id));
    one.quote(id, 1'0000 + id, 2'0000);
  }
  one.list(5, "NINECHARS");
  ASSERT_TRUE(settle());
  EXPECT_EQ(one.counters().claimed.get(), 2u);
  EXPECT_EQ(one.counters().refused.get(), 3u);
  EXPECT_EQ(consolidated("S0").best_bid, 1'0000u);
  std::uint32_t row = 0;
  EXPECT_EQ(reader().find("S3", row), ReadOutcome::kAbsent);
  add(0);
  ASSERT_TRUE(turns_until([&] { return !refusals.empty(); }));
  EXPECT_EQ(
      refusals[0],
      "none of the 1 lanes of the book home is free for venue 1: each has a writer, or is another "
      "venue's for good (home.writers)");
  mdhs.pop_back();
  refusals.clear();
  add(7);
  ASSERT_TRUE(turns_until([&] { return !refusals.empty(); }));
  EXPECT_NE(refusals[0].find("venue 8 is not one"), std::string::npos) << refusals[0];
}

// Many symbols, both venues, everything in motion; at the end the home has what the mdh's have.
TEST_F(BookHome, EndsWithWhatEachVenueSaidLast) {
  open();
  std::vector<Mdh*> venues{&add(0), &add(1), &add(2)};
  std::uint32_t prices[3][16];
  for (std::uint32_t id = 0; id < 16; ++id)
    for (std::size_t v = 0; v < 3; ++v)
      venues[v]->list((id * 7 + static_cast<std::uint32_t>(v)) % 16, "S" + std::to_string(id));
  std::uint64_t state = 1;
  const auto random = [&] {
    return (state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33;
  };
  for (int change = 0; change < 5'000; ++change) {
    const std::size_t v = random() % 3;
    const auto id = static_cast<std::uint32_t>(random() % 16);
    prices[v][id] = 1'0000 + static_cast<std::uint32_t>(random() % 1000);
    venues[v]->quote((id * 7 + static_cast<std::uint32_t>(v)) % 16, prices[v][id],
                     prices[v][id] + 2000);
    if (change % 3 == 0) turn();
  }
  ASSERT_TRUE(settle());
  std::uint64_t lost = 0;
  for (const Mdh* mdh : venues) lost += mdh->counters().quotes_lost.get();
  EXPECT_GT(lost, 0u) << "they were in each other's way";
  for (std::uint32_t id = 0; id < 16; ++id) {
    const wire::Consolidated seen = consolidated("S" + std::to_string(id));
    std::uint32_t best = 0;
    for (std::size_t v = 0; v < 3; ++v) {
      EXPECT_EQ(seen.venues[v].bid, prices[v][id]);
      EXPECT_EQ(
          book("S" + std::to_string(id), static_cast<std::uint32_t>(v)).book.image.bids[0].price,
          prices[v][id]);
      best = std::max(best, prices[v][id]);
    }
    EXPECT_EQ(seen.best_bid, best);
  }
}

}  // namespace
}  // namespace tickpath::home
