#include "sim/config.hpp"

#include <charconv>
#include <optional>

#include "common/base/error.hpp"
#include "common/base/trusted_file.hpp"
#include "common/control/feed_endpoints.hpp"
#include "common/control/feed_protocol.hpp"
#include "common/itch/moldudp64.hpp"
#include "sim/replay/time_of_day.hpp"

namespace tickpath::sim {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

template <class Group>
auto in(Group SimConfig::*group, auto member) {
  return [ group, member ](SimConfig & config) -> auto& { return (config.*group).*member; };
}

void add_replay(config::Schema<SimConfig>& schema) {
  const auto at = [](auto member) { return in(&SimConfig::replay, member); };
  schema
      .path("replay.file", at(&ReplayConfig::file),
            "Recording: ITCH 5.0 in BinaryFILE framing or a packet capture, a LOBSTER message file "
            "(its orderbook file beside it is read, too), Databento market by order (DBN or CSV); "
            "with feed.protocol = \"iex_deep10\" a packet capture of DEEP 1.0; plain, "
            ".gz or .zst")
      .required();
  schema.text("replay.stock", at(&ReplayConfig::stock),
              "LOBSTER only: symbol in place of the one in the file's name");
  schema.choice("replay.start", at(&ReplayConfig::start),
                {{"command", StartRule::kCommand}, {"immediate", StartRule::kImmediate}},
                "When the replay begins: at the admin command `start`, or at once");
  schema.choice("replay.pace", at(&ReplayConfig::pace),
                {{"recorded", PaceMode::kRecorded}, {"max", PaceMode::kMax}},
                "As recorded (times replay.speed), or as fast as replay.max_rate allows");
  schema.real("replay.speed", at(&ReplayConfig::speed), {0.001, 1e6}, "times",
              "Recorded pace: 10 replays ten times as fast as it was");
  schema.duration("replay.max_idle", at(&ReplayConfig::max_idle_ns), {0, 86'400 * kSecondNs},
                  "Recorded pace: a longer recorded silence is cut to this; 0s: never");
  schema.text("replay.from", at(&ReplayConfig::from),
              "Time of day (\"09:30\"); what was recorded before is sent at replay.max_rate, so "
              "that books are complete. Empty: from the start");
  schema.text("replay.to", at(&ReplayConfig::to),
              "Time of day at which the replay ends. Empty: the end of the recording");
  schema.integer("replay.max_rate", at(&ReplayConfig::max_rate), {0, 100'000'000}, "messages/s",
                 "Rate of pace = \"max\"; 0: no limit, receivers may lose packets");
  schema.integer("replay.burst", at(&ReplayConfig::burst), {1, 10'000}, "messages",
                 "Messages that become due together under replay.max_rate");
  schema.duration("replay.settle", at(&ReplayConfig::settle_ns), {0, 3'600 * kSecondNs},
                  "From the last message to the expiry of day orders, where the recording has no "
                  "end of system hours itself");
  schema
      .integer("replay.read_ahead", at(&ReplayConfig::read_ahead_blocks), {2, 4'096}, "blocks",
               "Recording kept in memory ahead of the replay, in blocks of 256 KiB")
      .power_of_two();
}

void add_feed(config::Schema<SimConfig>& schema) {
  const auto at = [](auto member) { return in(&SimConfig::feed, member); };
  control::add_feed_protocol(schema, at(&FeedConfig::protocol));
  schema.address("feed.group", at(&FeedConfig::group), "Multicast group of the market data");
  schema.text("feed.interface", at(&FeedConfig::interface), "Local address to send from");
  schema.integer("feed.ttl", at(&FeedConfig::ttl), {0, 255}, "hops",
                 "Multicast TTL; 0 stays on this host");
  schema.text("feed.session", at(&FeedConfig::session),
              "MoldUDP64 session, up to 10 characters, or the number of the IEX-TP session; empty: "
              "a new one at each start");
  schema.duration("feed.heartbeat", at(&FeedConfig::heartbeat_ns), {1'000'000, 60 * kSecondNs},
                  "Silence after which a heartbeat is sent");
  schema.integer("feed.packet_bytes", at(&FeedConfig::packet_bytes),
                 {128, itch::mold::kMaxPacketBytes}, "bytes", "Longest packet");
  schema.integer("feed.packet_messages", at(&FeedConfig::packet_messages), {1, 256}, "messages",
                 "Most messages in a packet");
  schema.size("feed.send_buffer", at(&FeedConfig::send_buffer_bytes), {4'096, 1 << 30},
              "Socket buffer");
}

void add_line(config::Schema<SimConfig>& schema, const std::string& key,
              LineConfig FeedConfig::*line) {
  const auto at = [line](auto member) {
    return [ line, member ](SimConfig & config) -> auto& { return (config.feed.*line).*member; };
  };
  schema.real(key + ".loss", at(&LineConfig::loss), {0, 0.99}, "of packets",
              "Share of packets lost on this line, on purpose");
  schema.real(key + ".loss_burst", at(&LineConfig::loss_burst), {1, 1e6}, "packets",
              "Packets lost in a row, on average");
  schema.duration(key + ".delay", at(&LineConfig::delay_ns), {0, 10 * kSecondNs},
                  "Every packet is held back so long");
  schema.duration(key + ".jitter", at(&LineConfig::jitter_ns), {0, 10 * kSecondNs},
                  "And up to so much longer, at random: packets overtake each other");
}

void add_redundancy(config::Schema<SimConfig>& schema) {
  const auto at = [](auto member) { return in(&SimConfig::feed, member); };
  control::add_feed_sources(schema, at(&FeedConfig::source), at(&FeedConfig::source_b));
  schema.text("feed.group_b", at(&FeedConfig::group_b),
              "Group and port of the redundant line B, an address \"host:port\"; empty: none");
  schema.text("feed.interface_b", at(&FeedConfig::interface_b),
              "Local address to send line B from; empty: as feed.interface");
  add_line(schema, "feed.a", &FeedConfig::a);
  add_line(schema, "feed.b", &FeedConfig::b);
  schema.integer("feed.seed", at(&FeedConfig::seed), {0, std::int64_t{1} << 62}, "",
                 "Decides which packets are lost and how late each is");
  schema.text("feed.retransmission.listen", at(&FeedConfig::retransmission_listen),
              "Where lost messages can be asked for (MoldUDP64 requests), an address "
              "\"host:port\"; empty: nowhere");
  schema.integer("feed.retransmission.messages", at(&FeedConfig::retransmission_messages),
                 {1, 1 << 30}, "messages", "The newest are kept for those who ask");
  schema.size("feed.retransmission.store", at(&FeedConfig::retransmission_store_bytes),
              {65'536, std::int64_t{1} << 40}, "Bytes of messages kept; memory is taken as used");
  schema.integer("feed.retransmission.rate", at(&FeedConfig::retransmission_rate),
                 {1'000, 1'000'000'000}, "messages/s",
                 "Answered to one address in a second; what is more waits. Bounds what a request "
                 "with a forged sender can aim at it");
  schema.real("feed.retransmission.loss", at(&FeedConfig::retransmission_loss), {0, 0.99},
              "of packets", "Share of answers lost, on purpose");
  schema.text("feed.snapshot.listen", at(&FeedConfig::snapshot_listen),
              "Where the state of all books can be had (GLIMPSE 5.0 over SoupBinTCP), an address "
              "\"host:port\"; empty: nowhere");
  schema.text("feed.snapshot.username", at(&FeedConfig::snapshot_username),
              "Name that a login must give, up to 6 characters; empty: any");
  schema.path("feed.snapshot.password_file", at(&FeedConfig::snapshot_password_file),
              "File whose first line is the password that a login must give, up to 10 characters; "
              "chmod 600. Or \"env:NAME\". Empty: any. It travels in the clear");
}

config::Schema<OrderSessionConfig> session_schema() {
  config::Schema<OrderSessionConfig> schema;
  schema.address("listen", &OrderSessionConfig::listen,
                 "Where this session's oeg connects; sessions may share a port, as a Logon is told "
                 "by its version and CompIDs");
  schema.texts("peers", &OrderSessionConfig::peers,
               "Addresses (\"10.77.0.2\") and nets (\"10.77.0.0/24\") that may log on; none: any");
  schema.texts("users", &OrderSessionConfig::users,
               "Users of this host (names or numbers) whose programs may log on from here; "
               "\"any\": no matter whose; none: sim's own user");
  schema.text("sender", &OrderSessionConfig::sender, "SenderCompID (49) of what sim sends");
  schema.text("target", &OrderSessionConfig::target, "TargetCompID (56): the oeg's SenderCompID");
  schema.path("store", &OrderSessionConfig::store,
              "FIX message store; empty: <run_dir>/<name>.<target>.fixstore");
  schema.choice("version", &OrderSessionConfig::version,
                {{"4.2", fix::Version::k42}, {"4.4", fix::Version::k44}},
                "FIX version, the oeg's venue.version; 4.4 has mass cancel");
  schema
      .integer("store_messages", &OrderSessionConfig::store_messages, {1'024, 1 << 24}, "messages",
               "Sent messages kept for a resend, 640 bytes each; older ones that the peer asks for "
               "are gap-filled. A store keeps its size: move the file away to change it")
      .power_of_two();
  schema.flag("validate", &OrderSessionConfig::validate,
              "Refuse messages that break the FIX data dictionary");
  schema.text("username", &OrderSessionConfig::username,
              "Username (553) that a Logon must give, FIX 4.4 alone; empty: any");
  schema.path("password_file", &OrderSessionConfig::password_file,
              "File whose first line is the password that a Logon must give: Password (554), in "
              "FIX 4.2 RawData (96); chmod 600. Or \"env:NAME\". Empty: any. It travels in "
              "the clear");
  schema.flag("allow_reset", &OrderSessionConfig::allow_reset,
              "Let a Logon start the sequence numbers anew (ResetSeqNumFlag, 141=Y): what the peer "
              "has not got yet is lost, and a stranger's leaves the real peer with numbers that do "
              "not fit any more");
  schema.flag("next_expected", &OrderSessionConfig::next_expected,
              "Say in our Logon which number we expect next (NextExpectedMsgSeqNum, 789), and send "
              "again what the peer lacks by its own, both without ResendRequests; FIX 4.4 alone");
  schema.integer("sending_time_max", &OrderSessionConfig::sending_time_max_s, {0, 86'400}, "s",
                 "How far SendingTime (52) may be from this host's clock; 0: it is not looked at");
  schema.integer(
      "gap_timeout", &OrderSessionConfig::gap_timeout_s, {1, 3600}, "s",
      "Messages of the peer that are missing, and of which none has come for so long, end "
      "the session; what came behind them waits, as far as there is room");
  schema.text(
      "start_time", &OrderSessionConfig::start_time,
      "When the session opens, UTC: \"08:00\", \"08:00:00\"; both sequence numbers begin with "
      "1 then. Empty: it never ends");
  schema.text("end_time", &OrderSessionConfig::end_time,
              "When it ends: its day orders expire, the peer is logged out, and a Logon is refused "
              "until it opens again");
  schema.text("start_day", &OrderSessionConfig::start_day,
              "Day on which a weekly session opens, \"mon\"; empty: every day");
  schema.text("end_day", &OrderSessionConfig::end_day, "Day on which it ends");
  schema.choice("party", &OrderSessionConfig::party,
                {{"session", PartyRule::kSession}, {"cl_ord_id", PartyRule::kClOrdId}},
                "Whose orders never trade with each other, and have a row in the ledger: the "
                "session's, apart by Account (1) or PartyID (448) if given; or, of tickpath's oeg "
                "alone, those of each strategy, which its ClOrdIDs carry");
  schema.flag("cancel_on_disconnect", &OrderSessionConfig::cancel_on_disconnect,
              "Cancel the session's orders when it logs out or its connection is lost");
  return schema;
}

void add_matching(config::Schema<SimConfig>& schema) {
  const auto at = [](auto member) { return in(&SimConfig::matching, member); };
  schema.choice("matching.halted", at(&MatchingConfig::halted),
                {{"reject", HaltRule::kReject}, {"rest", HaltRule::kRest}},
                "Orders for an instrument that does not trade: refuse them, or let them rest until "
                "it does");
  schema.choice("matching.self_match", at(&MatchingConfig::self_match),
                {{"cancel_newest", SelfMatchRule::kCancelNewest},
                 {"cancel_oldest", SelfMatchRule::kCancelOldest},
                 {"cancel_both", SelfMatchRule::kCancelBoth},
                 {"decrement", SelfMatchRule::kDecrement}},
                "When an order would trade with one of the same party: which of them ends, or "
                "both lose the smaller one's shares");
  schema.integer("matching.display_shares_min", at(&MatchingConfig::display_shares_min),
                 {1, kOrderSharesMax}, "shares", "Least display quantity (MaxFloor) of an order");
  schema.integer("matching.band_basis_points", at(&MatchingConfig::band_basis_points), {0, 10'000},
                 "1/100 %",
                 "Price bands so far from the last trade: limits beyond are refused, "
                 "market orders trade no further; 0: none");
  schema.choice("matching.tick_size", at(&MatchingConfig::ticks),
                {{"reg_nms", TickRule::kRegNms}, {"any", TickRule::kAny}},
                "Limits, stop prices and caps of pegs that are taken: whole cents from 1.00 up and "
                "0.0001 below it, as SEC Rule 612 has it, or any with four decimals");
  schema.flag("matching.publish", at(&MatchingConfig::publish),
              "What our orders do is part of the market data: added, executed and deleted as any "
              "venue's, and recorded messages bent where they no longer hold. false: subscribers "
              "see the recording, byte for byte");
  schema.choice(
      "matching.crosses", at(&MatchingConfig::crosses),
      {{"recorded", CrossRule::kRecorded}, {"own", CrossRule::kOwn}},
      "Crosses of on-open and on-close orders: those of the recording, or auctions of our "
      "own at the start and the end of market hours and after halts");
  schema.duration("matching.imbalance_interval", at(&MatchingConfig::imbalance_interval_ns),
                  {0, 3'600 * kSecondNs},
                  "Recorded time between two imbalance messages before a cross of our own "
                  "(published only); 0s: none");
  schema.integer("matching.recorded_orders_max", at(&MatchingConfig::recorded_orders_max),
                 {1'024, 1 << 28}, "orders", "Recorded orders resting at one time, all symbols");
  schema.integer("matching.recorded_levels_max", at(&MatchingConfig::recorded_levels_max),
                 {1'024, 1 << 26}, "levels", "Price levels in use at one time, all symbols");
  schema.integer("matching.live_orders_max", at(&MatchingConfig::live_orders_max), {1, 1 << 24},
                 "orders", "Our orders working at one time");
  schema.integer("matching.order_ids_max", at(&MatchingConfig::order_ids_max), {1, 1 << 28},
                 "requests", "New orders, cancels and replacements of a run");
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
    if (!sessions[i].username.empty() &&
        (sessions[i].password_file.empty() || sessions[i].version == fix::Version::k42))
      problems.add("orders.session",
                   "a username goes with a password_file, and is of version 4.4 alone");
    if (sessions[i].next_expected && sessions[i].version == fix::Version::k42)
      problems.add("orders.session", "next_expected is of version 4.4 alone");
    try {
      (void)session_times(sessions[i]);
    } catch (const Error& error) {
      problems.add("orders.session", error.what());
    }
    try {
      (void)peer_rule(sessions[i]);
    } catch (const net::NetError& error) {
      problems.add("orders.session", error.what());
    }
  }
}

void check_rest(const SimConfig& config, config::Problems& problems) {
  if (config.feed.session.size() > sizeof(itch::mold::Session))
    problems.add("feed.session", "has more than 10 characters");
  if (config.feed.protocol == control::FeedProtocol::kIexDeep10 && !config.feed.session.empty() &&
      !session_number(config.feed.session))
    problems.add("feed.session", "is not the number of an IEX-TP session, 0 to 4294967295");
  control::check_only_with_itch(config.feed.protocol, "feed.retransmission.listen",
                                config.feed.retransmission_listen, problems);
  control::check_sources(config.feed.source, config.feed.source_b, problems);
  control::check_second_line(config.feed.group, config.feed.group_b, problems);
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
  add_replay(schema);
  add_feed(schema);
  add_redundancy(schema);
  add_matching(schema);
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
  schema.check(check_times);
  schema.check(check_rest);
  return schema;
}

fix::SessionTimes session_times(const OrderSessionConfig& session) {
  return {session.start_time, session.end_time, session.start_day, session.end_day};
}

net::PeerRule peer_rule(const OrderSessionConfig& session) {
  return {session.peers, session.users, "orders.session"};
}

std::uint32_t iex_session(const FeedConfig& config, std::uint16_t incarnation) {
  return session_number(config.session).value_or(incarnation);
}

PaceOptions pace_options(const ReplayConfig& config) {
  PaceOptions options;
  options.mode = config.pace;
  options.speed = config.speed;
  options.max_idle_ns = static_cast<std::uint64_t>(config.max_idle_ns);
  options.rate = config.max_rate;
  options.burst = config.burst;
  if (!config.from.empty()) options.from_ns = parse_time_of_day(config.from);
  if (!config.to.empty()) options.to_ns = parse_time_of_day(config.to);
  return options;
}

}  // namespace tickpath::sim
