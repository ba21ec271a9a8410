// A feed with its updates in a vector, and packets made in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/cpu.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "mdh/arbiter.hpp"
#include "mdh/feed.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh::test {

using Bytes = std::vector<std::byte>;

template <class Message>
Bytes encoded(const Message& message) {
  Bytes bytes(itch::kMaxMessageBytes);
  bytes.resize(itch::encode(message, bytes.data()));
  return bytes;
}

inline itch::Header header(std::uint16_t locate, std::uint64_t time_ns = 1) {
  return {.stock_locate = locate, .tracking_number = 0, .timestamp = time_ns};
}
inline Bytes directory(std::uint16_t locate, const char* symbol) {
  return encoded(itch::StockDirectory{.header = header(locate),
                                      .stock = symbol,
                                      .market_category = 'Q',
                                      .financial_status_indicator = 'N',
                                      .round_lot_size = 100});
}
inline Bytes trading(std::uint16_t locate, const char* symbol, char state) {
  return encoded(
      itch::StockTradingAction{.header = header(locate), .stock = symbol, .trading_state = state});
}
inline Bytes add(std::uint16_t locate, const char* symbol, std::uint64_t reference, char side,
                 std::uint32_t shares, std::uint32_t price) {
  return encoded(itch::AddOrder{.header = header(locate, reference),
                                .order_reference_number = reference,
                                .buy_sell_indicator = side,
                                .shares = shares,
                                .stock = symbol,
                                .price = price});
}
inline Bytes execute(std::uint16_t locate, std::uint64_t reference, std::uint32_t shares) {
  return encoded(itch::OrderExecuted{
      .header = header(locate), .order_reference_number = reference, .executed_shares = shares});
}
inline Bytes remove(std::uint16_t locate, std::uint64_t reference) {
  return encoded(itch::OrderDelete{.header = header(locate), .order_reference_number = reference});
}

inline Bytes packet(const std::string& session, std::uint64_t sequence,
                    const std::vector<Bytes>& messages) {
  Bytes buffer(65'507);
  itch::mold::PacketBuilder builder(buffer);
  builder.begin(itch::mold::Session(session), sequence);
  for (const Bytes& message : messages) EXPECT_TRUE(builder.append(message));
  const auto made = builder.finish();
  return {made.begin(), made.end()};
}
inline Bytes end_of_session(const std::string& session, std::uint64_t sequence) {
  Bytes buffer(itch::mold::kHeaderBytes);
  itch::mold::PacketBuilder builder(buffer);
  builder.begin(itch::mold::Session(session), sequence);
  const auto made = builder.finish_session();
  return {made.begin(), made.end()};
}

class VectorSink final : public UpdateSink {
 public:
  void publish(const wire::BookUpdate& update) noexcept override { updates.push_back(update); }
  void mark_dirty(std::uint32_t id) noexcept override { ++dirty[id]; }
  void store_row(std::uint32_t index, const wire::DirectoryEntry& row) noexcept override {
    rows[index] = row;
  }
  std::vector<wire::BookUpdate> updates;
  std::map<std::uint32_t, int> dirty;
  std::map<std::uint32_t, wire::DirectoryEntry> rows;  // by their place in the directory
};

inline FeedOptions small_options() {
  return {.instruments_max = 64,
          .book = {.orders_max = 4'096, .levels_max = 2'048},
          .silence_timeout_ns = 1'000'000'000};
}

inline FeedOptions roomy_options() {
  FeedOptions options = small_options();
  options.book = {.orders_max = 65'536, .levels_max = 16'384};
  return options;
}
inline FeedOptions deep_options() {
  FeedOptions options = small_options();
  options.protocol = FeedProtocol::kIexDeep10;
  return options;
}

inline wire::BookImage image_of(const Feed& feed, std::uint32_t id) {
  wire::BookImage image{};
  feed.fill_image(id, image);
  return image;
}

// Bridges a gap at once, when the test has made a snapshot.
struct ReadySnapshots final : SnapshotPort {
  Snapshot made;
  bool ready = false;
  void request() noexcept override {}
  Status poll() noexcept override { return ready ? Status::kReady : Status::kNone; }
  const Snapshot& snapshot() const noexcept override { return made; }
  void release() noexcept override { ready = false; }
};

// One line of a feed. What is missing is a gap at once, and a session follows another at once.
class OneLine {
 public:
  OneLine(Feed& feed, log::HotLog& log, SnapshotPort* snapshots = nullptr)
      : arbiter_({.gap_wait_ns = 0, .session_silence_ns = 0}, feed, nullptr, snapshots, log) {}

  void collect(const Bytes& packet, TscTicks at) { arbiter_.collect(Line::kA, packet, {0, at}); }
  void hear(const Bytes& packet, TscTicks at = tsc_now()) {
    collect(packet, at);
    process(at);
  }
  // A gap is looked at behind its time, and a snapshot in the turn behind that.
  void process(TscTicks at) {
    arbiter_.process(at);
    for (std::uint64_t turn = 1; arbiter_.waiting() && turn <= 2; ++turn)
      arbiter_.process({at.value + turn});
  }

 private:
  Arbiter arbiter_;
};

class FeedTest : public ::testing::Test {
 protected:
  explicit FeedTest(const FeedOptions& options = small_options())
      : feed(options, sink, trace, log), line_a(feed, log) {
    define_notes(log);
  }

  // Delivers a packet of session "S" with these messages at the next sequence number.
  void send(const std::vector<Bytes>& messages) {
    const Bytes bytes = packet("S", next, messages);
    next += messages.size();
    deliver(bytes);
  }
  void deliver(const Bytes& bytes) { line_a.hear(bytes); }
  const wire::BookUpdate& last() const { return sink.updates.back(); }
  wire::BookImage image(std::uint32_t id = 0) const { return image_of(feed, id); }
  std::vector<wire::UpdateKind> kinds() const {
    std::vector<wire::UpdateKind> result;
    for (const wire::BookUpdate& update : sink.updates) result.push_back(update.kind);
    return result;
  }

  VectorSink sink;
  trace::TraceWriter trace{{}};
  log::HotLog log;
  std::uint64_t next = 1;
  Feed feed;
  OneLine line_a;
};

}  // namespace tickpath::mdh::test
