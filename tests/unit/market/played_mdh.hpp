// mdh played by hand, over the real fabric, for tests of what reads the market.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "common/link/heartbeat.hpp"
#include "common/link/publisher.hpp"
#include "common/link/remote_table.hpp"
#include "common/wire/book_image.hpp"
#include "common/wire/book_update.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/hello.hpp"
#include "tests/support/connect.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::market::test {

inline constexpr std::uint32_t kInstruments = 8;

// mdh as a subscriber sees it.
class PlayedMdh {
 public:
  void accept(rdma::ConnectionRequest& request) {
    const auto hello = link::read_program<wire::Hello>(request.hello());
    ASSERT_TRUE(hello.has_value());
    EXPECT_EQ(hello->service, wire::Service::kBookUpdates);
    role = hello->role;
    const std::array<rdma::Grant, 2> extras{directory.grant(), heartbeat.grant()};
    accept_now(*publisher, request, {}, extras);
  }
  // Another session, all good.
  void begin(std::uint64_t with_numbering) {
    numbering = with_numbering;
    sequence = 0;
    publisher->publish(wire::numbering_update(numbering, 1));
    state(wire::FeedState::kGood);
  }
  void state(wire::FeedState now) {
    publisher->set_program_word(wire::feed_word(numbering, now));
    publisher->set_program_place(sequence);
    publisher->publish(wire::feed_state_update(wire::kNoInstrument, now, sequence));
  }
  void list(std::uint32_t id, const std::string& symbol) {
    wire::DirectoryEntry entry{};
    std::memset(entry.symbol, ' ', sizeof(entry.symbol));
    std::memcpy(entry.symbol, symbol.data(), symbol.size());
    entry.instrument_id = id;
    directory.store(rows++, entry);
    publisher->set_program_place(sequence + 1);
    publisher->publish(wire::BookUpdate{
        .trace_id = ++sequence, .instrument_id = id, .kind = wire::UpdateKind::kDirectory});
  }
  void tick(std::uint32_t id, std::uint32_t bid, std::uint32_t ask) {
    wire::BookUpdate update{.trace_id = ++sequence,
                            .instrument_id = id,
                            .best_bid = bid,
                            .best_ask = ask,
                            .best_bid_shares = 100,
                            .best_ask_shares = 100,
                            .kind = wire::UpdateKind::kAdd};
    update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
    publisher->set_program_place(sequence);
    publisher->publish(update);
    last[id] = update;
    publisher->mark_dirty(id);
  }
  void turn() {
    heartbeat.beat();
    publisher->flush([this](std::uint32_t id, wire::BookImage& image) noexcept {
      image.instrument_id = id;
      image.trace_id = last[id].trace_id;
      image.states = last[id].states;
      image.set_numbering(numbering);
      image.bids[0] = {last[id].best_bid, 100, 1};
      image.asks[0] = {last[id].best_ask, 100, 1};
    });
    publisher->turn();
  }

  // Another mdh in its place, whose directory is empty.
  void restart() {
    publisher.reset();
    directory = link::TableOwner<wire::DirectoryEntry>(*fabric.device, kInstruments, "directory");
    rows = 0;
    last = {};
    publisher = make();
  }

  link::test::Fabric fabric;
  link::TableOwner<wire::DirectoryEntry> directory{*fabric.device, kInstruments, "directory"};
  link::Heartbeat heartbeat{*fabric.device, "heartbeat"};
  std::unique_ptr<link::Publisher<wire::BookUpdate, wire::BookImage>> publisher = make();
  std::array<wire::BookUpdate, kInstruments> last{};
  std::size_t rows = 0;  // of the directory: in the order in which they were listed
  std::uint64_t sequence = 0;
  std::uint64_t numbering = 0;
  wire::Role role{};  // of who joined last

 private:
  std::unique_ptr<link::Publisher<wire::BookUpdate, wire::BookImage>> make() {
    link::PublisherOptions options{.image_count = kInstruments, .depth_max = 1024};
    return std::make_unique<link::Publisher<wire::BookUpdate, wire::BookImage>>(*fabric.device,
                                                                                nullptr, options);
  }
};

}  // namespace tickpath::market::test
