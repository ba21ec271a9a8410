#include "sim/config.hpp"

#include <charconv>
#include <optional>

#include "common/base/error.hpp"
#include "common/base/trusted_file.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "sim/replay/time_of_day.hpp"

namespace tickpath::sim {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

config::Schema<PaceOptions> pace_schema() {
  using P = PaceOptions;
  config::Schema<P> schema;
  schema.choice("pace", &P::mode, {{"recorded", PaceMode::kRecorded}, {"max", PaceMode::kMax}},
                "As recorded (times replay.speed), or as fast as replay.max_rate allows");
  schema.real("speed", &P::speed, {kSpeedMin, kSpeedMax}, "times",
              "Recorded pace: 10 replays ten times as fast as it was");
  schema.duration(
      "max_idle", &P::max_idle_ns, {0, 86'400 * kSecondNs},
      "Recorded pace: a longer recorded silence is cut to this, and timers of strategies "
      "by the wall's clock miss it; 0s: never");
  schema.integer("max_rate", &P::rate, {0, 100'000'000}, "messages/s",
                 "Rate of pace = \"max\"; 0: no limit, receivers may lose packets");
  schema.integer("burst", &P::burst, {1, 10'000}, "messages",
                 "Messages that become due together under replay.max_rate");
  return schema;
}

config::Schema<ReplayConfig> replay_schema() {
  using R = ReplayConfig;
  config::Schema<R> schema;
  schema
      .path("file", &R::file,
            "Recording: ITCH 5.0 in BinaryFILE framing or a packet capture, a LOBSTER message file "
            "(its orderbook file beside it is read, too), Databento market by order (DBN or CSV); "
            "with feed.protocol = \"iex_deep10\" a packet capture of DEEP 1.0; plain, "
            ".gz or .zst. A list, or names with commas in between, is played one after the other: "
            "days, or parts of one")
      .required()
      .or_list();
  schema.text("stock", &R::stock, "LOBSTER only: symbol in place of the one in the file's name");
  schema.choice("start", &R::start,
                {{"command", StartRule::kCommand}, {"immediate", StartRule::kImmediate}},
                "When the replay begins: at the admin command `start`, or at once");
  schema.include("", &R::pace, pace_schema());
  schema.text("from", &R::from,
              "Time of day (\"09:30\"); what was recorded before is sent at replay.max_rate, so "
              "that books are complete. Of a recording of several days the first one's, or hours "
              "since its midnight: \"33:30\" is 09:30 of the second. Empty: from the start");
  schema.text("to", &R::to,
              "Time at which the replay ends, likewise: \"16:00\" ends on the first day, \"40:00\" "
              "on the second. Empty: the end of the recording");
  schema.duration("settle", &R::settle_ns, {0, 3'600 * kSecondNs},
                  "From the last message to the expiry of day orders, where the recording has no "
                  "end of system hours itself");
  schema
      .integer("read_ahead", &R::read_ahead_blocks, {2, 4'096}, "blocks",
               "Recording kept in memory ahead of the replay, in blocks of 256 KiB")
      .power_of_two();
  return schema;
}

config::Schema<Impairment> line_schema() {
  config::Schema<Impairment> schema;
  schema.real("loss", &Impairment::loss, {0, 0.99}, "of packets",
              "Share of packets lost on this line, on purpose");
  schema.real("loss_burst", &Impairment::loss_burst, {1, 1e6}, "packets",
              "Packets lost in a row, on average");
  schema.duration("delay", &Impairment::delay_ns, {0, 10 * kSecondNs},
                  "Every packet is held back so long");
  schema.duration("jitter", &Impairment::jitter_ns, {0, 10 * kSecondNs},
                  "And up to so much longer, at random: packets overtake each other");
  return schema;
}

config::Schema<RetransmissionOptions> retransmission_schema() {
  using R = RetransmissionOptions;
  config::Schema<R> schema;
  schema.integer("messages", &R::messages, {1, 1 << 30}, "messages",
                 "The newest are kept for those who ask");
  schema.size("store", &R::bytes, {65'536, std::int64_t{1} << 40},
              "Bytes of messages kept; memory is taken as used");
  schema.integer("rate", &R::rate, {1'000, 1'000'000'000}, "messages/s",
                 "Answered to one address in a second; what is more waits. Bounds what a request "
                 "with a forged sender can aim at it");
  schema.real("loss", &R::loss, {0, 0.99}, "of packets", "Share of answers lost, on purpose");
  return schema;
}

config::Schema<FeedConfig> feed_schema() {
  using F = FeedConfig;
  config::Schema<F> schema;
  schema.include(
      "", [](F& feed) -> control::FeedLines& { return feed; }, control::feed_lines_schema());
  schema.integer("ttl", &F::ttl, {0, 255}, "hops", "Multicast TTL; 0 stays on this host");
  schema.text("session", &F::session,
              "MoldUDP64 session, up to 10 characters, or the number of the IEX-TP session; empty: "
              "a new one at each start");
  schema.duration("heartbeat", &F::heartbeat_ns, {1'000'000, 60 * kSecondNs},
                  "Silence after which a heartbeat is sent");
  schema.integer("packet_bytes", &F::packet_bytes, {128, itch::mold::kMaxPacketBytes}, "bytes",
                 "Longest packet");
  schema.integer("packet_messages", &F::packet_messages, {1, 256}, "messages",
                 "Most messages in a packet");
  schema.size("send_buffer", &F::send_buffer_bytes, {4'096, 1 << 30}, "Socket buffer");
  schema.include("a", &F::a, line_schema());
  schema.include("b", &F::b, line_schema());
  schema.integer("seed", &F::seed, {0, std::int64_t{1} << 62}, "",
                 "Decides which packets are lost and how late each is");
  schema.text("retransmission.listen", &F::retransmission_listen,
              "Where lost messages can be asked for (MoldUDP64 requests), an address "
              "\"host:port\"; empty: nowhere");
  schema.include("retransmission", &F::retransmission, retransmission_schema());
  schema.text("snapshot.listen", &F::snapshot_listen,
              "Where the state of all books can be had (GLIMPSE 5.0 over SoupBinTCP), an address "
              "\"host:port\"; empty: nowhere");
  schema.text("snapshot.username", &F::snapshot_username,
              "Name that a login must give, up to 6 characters; empty: any");
  schema.path("snapshot.password_file", &F::snapshot_password_file,
              "File whose first line is the password that a login must give, up to 10 characters; "
              "chmod 600. Or \"env:NAME\". Empty: any. It travels in the clear");
  return schema;
}

config::Schema<OrderSessionConfig> session_schema() {
  using C = OrderSessionConfig;
  config::Schema<C> schema;
  schema.address("listen", &C::listen,
                 "Where this session's oeg connects; sessions may share a port, as a Logon is told "
                 "by its version and CompIDs");
  schema.include(
      "", [](C& config) -> fix::SessionConfig& { return config; },
      fix::session_schema("orders.session"));
  schema.choice("party", &C::party,
                {{"session", PartyRule::kSession}, {"cl_ord_id", PartyRule::kClOrdId}},
                "Whose orders never trade with each other, and have a row in the ledger: the "
                "session's, apart by Account (1) or PartyID (448) if given; or, of tickpath's oeg "
                "alone, those of each strategy, which its ClOrdIDs carry");
  schema.choice("second_logon", &C::second_logon,
                {{"refuse", SecondLogon::kRefuse}, {"replace", SecondLogon::kReplace}},
                "A Logon while the session is logged on: refuse it, or end the older connection, "
                "for a client that fails over. Whoever may log on may then end a connection");
  schema.flag(
      "lenient_replace", &C::lenient_replace,
      "A replacement may leave out ExecInst (18) and MaxFloor (111), which the order keeps; "
      "false: it is refused, as FIX carries ExecInst over to no replacement");
  schema.integer(
      "correct_every", &C::correct_every, {0, 1'000'000'000}, "fills",
      "After so many fills one is corrected (20=2; 4.4: 150=G), to what it was: a client "
      "has to book it as one that holds; 0: none");
  schema.integer(
      "misreport_every", &C::misreport_every, {0, 1'000'000'000}, "fills",
      "After so many fills one is canceled (20=1; 4.4: 150=H) that was never reported: a "
      "client has to name it, and book nothing; 0: none");
  schema.flag("cancel_on_disconnect", &C::cancel_on_disconnect,
              "Cancel the session's orders when it logs out or its connection is lost");
  return schema;
}

config::Schema<MatchingConfig> matching_schema() {
  using M = MatchingConfig;
  config::Schema<M> schema;
  schema.choice("halted", &M::halt_rule, {{"reject", HaltRule::kReject}, {"rest", HaltRule::kRest}},
                "Orders for an instrument that does not trade: refuse them, or let them rest until "
                "it does");
  schema.choice("self_match", &M::self_match,
                {{"cancel_newest", SelfMatchRule::kCancelNewest},
                 {"cancel_oldest", SelfMatchRule::kCancelOldest},
                 {"cancel_both", SelfMatchRule::kCancelBoth},
                 {"decrement", SelfMatchRule::kDecrement}},
                "When an order would trade with one of the same party: which of them ends, or "
                "both lose the smaller one's shares");
  schema.integer("display_shares_min", &M::display_shares_min, {1, kOrderSharesMax}, "shares",
                 "Least display quantity (MaxFloor) of an order");
  schema.integer("band_basis_points", &M::band_basis_points, {0, 10'000}, "1/100 %",
                 "Price bands so far from the last trade: limits beyond are refused, "
                 "market orders trade no further; 0: none");
  schema.choice("tick_size", &M::ticks, {{"reg_nms", TickRule::kRegNms}, {"any", TickRule::kAny}},
                "Limits, stop prices and caps of pegs that are taken: whole cents from 1.00 up and "
                "0.0001 below it, as SEC Rule 612 has it, or any with four decimals");
  schema.flag(
      "publish", &M::publish,
      "What our orders do is part of the market data: added, executed and deleted as any "
      "venue's, and recorded messages amended where they no longer hold. false: subscribers "
      "see the recording, byte for byte");
  schema.choice(
      "crosses", &M::crosses, {{"recorded", CrossRule::kRecorded}, {"own", CrossRule::kOwn}},
      "Crosses of on-open and on-close orders: those of the recording, or auctions of our "
      "own at the start and the end of market hours and after halts");
  schema.duration("imbalance_interval", &M::imbalance_interval_ns, {0, 3'600 * kSecondNs},
                  "Recorded time between two imbalance messages before a cross of our own "
                  "(published only); 0s: none");
  schema.integer(
      "recorded_orders_max", [](M& m) -> std::uint32_t& { return m.book.orders_max; },
      {1'024, 1 << 28}, "orders", "Recorded orders resting at one time, all symbols");
  schema.integer(
      "recorded_levels_max", [](M& m) -> std::uint32_t& { return m.book.levels_max; },
      {1'024, 1 << 26}, "levels", "Price levels in use at one time, all symbols");
  schema.integer("live_orders_max", &M::live_orders_max, {1, 1 << 24}, "orders",
                 "Our orders working at one time");
  schema.integer("order_ids_max", &M::order_ids_max, {1, 1 << 28}, "requests",
                 "New orders, cancels and replacements of a run");
  return schema;
}

void check_times(const SimConfig& config, config::Problems& problems) {
  std::uint64_t from = 0;
  std::uint64_t to = kNoTime;
  const auto parse = [&](const char* key, const std::string& text, std::uint64_t& into) {
    try {
      if (!text.empty()) into = parse_time_of_day(text);
    } catch (const Error& error) {
      problems.add(key, error.what());
    }
  };
  parse("replay.from", config.replay.from, from);
  parse("replay.to", config.replay.to, to);
  if (from > to) problems.add("replay.to", "is before replay.from");
}

std::optional<std::uint32_t> session_number(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

void check_sessions(const std::vector<OrderSessionConfig>& sessions, config::Problems& problems) {
  const auto same = [](const OrderSessionConfig& a, const OrderSessionConfig& b) {
    return a.version == b.version && a.sender == b.sender && a.target == b.target;
  };
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (same(sessions[i], sessions[j]))
        problems.add("orders.session", "two sessions are between " + sessions[i].sender + " and " +
                                           sessions[i].target +
                                           " in one version; each oeg needs CompIDs of its own");
    if (sessions[i].store.empty() && !is_file_name_part(sessions[i].target))
      problems.add("orders.session", "\"" + sessions[i].target +
                                         "\" names the store of the session and has other "
                                         "characters than letters, digits, _ . -: give it a store");
  }
}

void check_rest(const SimConfig& config, config::Problems& problems) {
  if (config.feed.session.size() > sizeof(itch::mold::Session))
    problems.add("feed.session", "has more than 10 characters");
  if (control::format_of(config.feed).transport == feeds::Transport::kIexTp &&
      !config.feed.session.empty() && !session_number(config.feed.session))
    problems.add("feed.session", "is not the number of an IEX-TP session, 0 to 4294967295");
  control::check_recoverable(config.feed, "feed.retransmission.listen",
                             config.feed.retransmission_listen, problems);
  control::check_lines(config.feed, problems);
  control::check_endpoint("feed.retransmission.listen", config.feed.retransmission_listen,
                          problems);
  control::check_endpoint("feed.snapshot.listen", config.feed.snapshot_listen, problems);
  control::check_snapshot_username(config.feed.snapshot_username, problems);
  check_sessions(config.orders, problems);
}

}  // namespace

config::Schema<SimConfig> sim_schema() {
  config::Schema<SimConfig> schema;
  schema.include("", &SimConfig::common, control::common_schema());
  schema.include("replay", &SimConfig::replay, replay_schema());
  schema.include("feed", &SimConfig::feed, feed_schema());
  schema.include("matching", &SimConfig::matching, matching_schema());
  schema.tables("orders.session", &SimConfig::orders, session_schema(), {0, 255},
                "FIX sessions, one for each oeg; none given: one with these defaults");
  schema
      .integer("orders.reports_pending_max", &SimConfig::reports_pending_max, {1'024, 1 << 24},
               "reports", "Reports that wait for an oeg that does not read, before it is cut off")
      .power_of_two();
  schema.integer("orders.ledger_rows", &SimConfig::ledger_rows, {1, 1 << 24}, "rows",
                 "Strategies times symbols that ever have an order");
  schema.include("latency", &SimConfig::latency, latency_schema());
  schema.include("orders", &SimConfig::rate, rate_schema());
  schema.include("fees", &SimConfig::fees, fee_schema());
  schema.check(check_times);
  schema.check(check_rest);
  return schema;
}

std::uint32_t iex_session(const FeedConfig& config, std::uint16_t incarnation) {
  return session_number(config.session).value_or(incarnation);
}

PaceOptions pace_options(const ReplayConfig& config) {
  PaceOptions options = config.pace;
  if (!config.from.empty()) options.from_ns = parse_time_of_day(config.from);
  if (!config.to.empty()) options.to_ns = parse_time_of_day(config.to);
  return options;
}

}  // namespace tickpath::sim
