#include "mdh/config.hpp"

#include <string>

#include "common/stores/home/layout.hpp"
#include "common/stores/values/layout.hpp"

namespace tickpath::mdh {
namespace {

void check_feed(const MdhConfig& config, config::Problems& problems) {
  control::check_recoverable(config.feed, "feed.retransmission.server",
                             config.retransmission_server, problems);
  control::check_lines(config.feed, problems);
  control::check_shard("feed.shard", config.shard, problems);
  control::check_endpoint("feed.retransmission.server", config.retransmission_server, problems);
  control::check_endpoint("feed.snapshot.server", config.snapshot_server, problems);
  control::check_snapshot_username(config.snapshot_username, problems);
}

config::Schema<ArbiterOptions> arbiter_schema() {
  using A = ArbiterOptions;
  config::Schema<A> schema;
  schema.duration("gap_wait", &A::gap_wait_ns, {0, 60'000'000'000},
                  "How long a missing message is waited for, from the other line or out of order");
  schema.integer(
      "held_packets", &A::held_packets, {1, 65'535}, "packets",
      "Packets that may wait for what comes before them; beyond, a gap is given up. Memory is "
      "taken as used");
  schema.integer("datagram_bytes", &A::datagram_bytes, {64, 65'507}, "bytes",
                 "Longest datagram expected; longer ones are dropped and counted");
  schema.duration("retransmission.timeout", &A::request_timeout_ns, {1'000'000, 60'000'000'000},
                  "Silence after which a request is repeated");
  schema.integer(
      "retransmission.attempts", &A::requests_max, {1, 1000}, "requests",
      "Requests without an answer, until a snapshot is asked for or the gap is given up");
  schema.integer("snapshot.gap", &A::snapshot_gap_messages, {0, std::int64_t{1} << 40}, "messages",
                 "A longer gap is bridged by a snapshot at once, without asking for each message: "
                 "who joins late in the day");
  schema.duration("snapshot.retry", &A::snapshot_retry_ns, {0, 600'000'000'000},
                  "From an attempt that failed to the next");
  schema.integer("snapshot.attempts", &A::snapshot_attempts_max, {1, 1'000'000}, "attempts",
                 "Until the gap is given up");
  return schema;
}

void add_home(config::Schema<MdhConfig>& schema) {
  using C = MdhConfig;
  schema.flag("home.keep", &C::home_keep,
              "Whether this mdh keeps the book home: the memory into which the mdh's of all venues "
              "write their books, and which anyone may READ (common/stores/home/DESIGN.md)");
  schema.integer(
      "home.symbols", &C::home_symbols, {1, home::kRowsMax}, "symbols",
      "Room in it, over all venues; 1,280 bytes a symbol and writer, and 64 a symbol and "
      "venue");
  schema.integer("home.venues", &C::home_venues, {1, wire::kVenuesMax}, "venues", "Of all writers");
  schema.integer("home.writers", &C::home_writers, {1, link::kLanesMax}, "mdh's",
                 "That may write at one time, this one among them");
  schema.path(
      "home.endpoint", &C::home_endpoint,
      "fabric.endpoint of the mdh that keeps the home this one writes its books into, as those "
      "of venue_number (a second mdh of the same venue stands by there); "
      "empty: its own where it keeps one, else none");
  schema.duration("home.dead_after", &C::home_dead_after_ns, {1'000'000, 60'000'000'000},
                  "Silence of another writer after which its books no longer count. It beats every "
                  "5 ms from its polling thread");
}

void add_values(config::Schema<MdhConfig>& schema) {
  using C = MdhConfig;
  schema.integer(
      "values.keys", &C::values_keys, {0, values::kKeysMax}, "keys",
      "Room for values that strategies and `tickpath value` share "
      "(common/stores/values/DESIGN.md); 1,792 to 3,584 bytes a key and writer; 0: none are kept");
  schema.integer(
      "values.writers", &C::values_writers, {1, link::kLanesMax}, "programs",
      "That may be connected to write values at one time; readers are not counted. With two "
      "or more, strategies or tools alone do not get the last place");
}

void check_home(const MdhConfig& config, config::Problems& problems) {
  if (config.home_keep && config.home_venue() >= config.home_venues)
    problems.add("venue_number", "is more than home.venues, " + std::to_string(config.home_venues));
}

config::Schema<prices::StoreOptions> store_schema() {
  using S = prices::StoreOptions;
  constexpr config::IntegerRange kEntries{prices::kEntriesMin, std::int64_t{1} << 24};
  config::Schema<S> schema;
  schema.flag("enabled", &S::enabled,
              "Keep recent trades, quotes and bars of each instrument, for others to READ");
  schema.integer("instruments", &S::instruments, {1, 65'536}, "instruments",
                 "That have room; 400 bytes each, and as many entries of 64 bytes as follow");
  schema.integer("trades", &S::trades, kEntries, "entries",
                 "Trades an instrument, on average: busy ones take what quiet ones leave");
  schema.integer("quotes", &S::quotes, kEntries, "entries",
                 "Changes of the best bid and offer, likewise");
  schema.integer("bars_1s", &S::bars_1s, kEntries, "entries", "Bars of a second, likewise");
  schema.integer("bars_1m", &S::bars_1m, kEntries, "entries", "Bars of a minute, likewise");
  schema.duration("keep", &S::keep_ns, {1'000'000'000, 86'400'000'000'000},
                  "How far back an instrument's entries are to reach: it is given room until they "
                  "do, as long as there is any");
  return schema;
}

}  // namespace

config::Schema<MdhConfig> mdh_schema() {
  using C = MdhConfig;
  config::Schema<C> schema;
  schema.include("", &C::common, control::common_schema());

  schema.include("feed", &C::feed, control::feed_lines_schema());
  schema.include("feed", &C::arbiter, arbiter_schema());
  schema.text("feed.shard", &C::shard,
              "Which symbols of the feed are this mdh's, where several share them: \"2/4\" is the "
              "second of four. It reads the whole feed, and keeps the books of these; empty: all");
  schema.text("feed.retransmission.server", &C::retransmission_server,
              "Where lost messages are asked for (MoldUDP64 requests), an address \"host:port\"; "
              "empty: nowhere, a gap stays");
  schema.text("feed.snapshot.server", &C::snapshot_server,
              "Where the state of all books is asked for when lost messages cannot be had (GLIMPSE "
              "5.0 over SoupBinTCP), an address \"host:port\"; empty: nowhere");
  schema.text("feed.snapshot.username", &C::snapshot_username,
              "Name to log in with, up to 6 characters");
  schema.path("feed.snapshot.password_file", &C::snapshot_password_file,
              "File whose first line is the password to log in with, up to 10 characters; chmod "
              "600. Or \"env:NAME\". Empty: none. It travels in the clear");
  schema.duration("feed.snapshot.timeout", &C::snapshot_timeout_ns, {1'000'000, 600'000'000'000},
                  "Time without data from the snapshot server after which an attempt has failed");
  schema.size(
      "feed.receive_buffer", &C::feed_receive_buffer_bytes, {65'536, std::int64_t{1} << 30},
      "Socket buffer: what a burst may grow to while mdh is busy; the kernel grants at most "
      "net.core.rmem_max");
  schema.integer(
      "feed.batch", &C::feed_batch, {1, 1024}, "packets",
      "Packets taken from the socket at once; more carry bursts with fewer system calls, "
      "fewer let a packet overtake images sooner");
  schema.duration("feed.silence_timeout", &C::feed_silence_timeout_ns, {0, 3'600'000'000'000},
                  "Silence after which every book counts as stale; 0: never");

  schema.integer("instruments_max", &C::instruments_max, {1, 65'536}, "instruments",
                 "Room in the directory and the image table; subscribers need at least as much");
  schema.path("instruments_file", &C::instruments_file,
              "Symbols in the order of their ids: a restart gives each the id that it had, which "
              "carried positions need");
  schema.integer("instruments_kept", &C::instruments_kept_days, {0, 36'500}, "days",
                 "A symbol that no feed has named for so long loses its id to a new one when there "
                 "is no other; 0: never");
  schema.integer("book.orders_max", &C::orders_max, {1, std::int64_t{1} << 30}, "orders",
                 "Orders that may rest at one time, all instruments; 64 bytes each, "
                 "up to 104 where it is no power of two");
  schema.integer("book.levels_max", &C::levels_max, {1, std::int64_t{1} << 28}, "levels",
                 "Price levels in use at one time, both sides of all instruments; 64 bytes each");

  schema.include("publish", &C::publish, publish_schema());
  schema.include("store", &C::store, store_schema());
  add_home(schema);
  add_values(schema);
  schema.check(check_feed);
  schema.check(check_home);
  schema.check([](const C& config, config::Problems& problems) {
    check_publish(config.publish, config.common.fabric.provider, problems);
  });
  return schema;
}

}  // namespace tickpath::mdh
