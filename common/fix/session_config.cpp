#include "common/fix/session_config.hpp"

#include "common/net/secret_file.hpp"

namespace tickpath::fix {

config::Schema<SessionConfig> session_schema(const std::string& section) {
  using C = SessionConfig;
  config::Schema<C> schema;
  schema.texts(
      "peers", &C::peers,
      "Addresses (\"10.77.0.2\") and nets (\"10.77.0.0/24\") that the peer may have; none: "
      "any");
  schema.texts("users", &C::users,
               "Users of this host (names or numbers) that a peer on it may run as; \"any\": no "
               "matter who; none: this program's own user");
  schema.text("sender", &C::sender, "SenderCompID (49) of what we send");
  schema.text("target", &C::target, "TargetCompID (56): the peer's SenderCompID");
  schema.choice("version", &C::version, {{"4.2", Version::k42}, {"4.4", Version::k44}},
                "FIX version, the same on both sides; 4.4 has mass cancel");
  schema.flag("validate", &C::validate,
              "Refuse messages of the peer that break the FIX data dictionary");
  schema.path("store", &C::store,
              "FIX message store: sequence numbers and sent messages, survives a restart");
  schema
      .integer("store_messages", &C::store_messages, {1'024, 1 << 24}, "messages",
               "Sent messages kept for a resend, 640 bytes each; older ones that the peer asks for "
               "are gap-filled. A store keeps its size: move the file away to change it")
      .power_of_two();
  schema.integer("gap_timeout", &C::gap_timeout_s, {1, 3600}, "s",
                 "Messages of the peer that are missing, and of which none has come for so long, "
                 "end the session; what came behind them waits, as far as there is room. Until "
                 "they have come oeg refuses new orders (venue_gap)");
  schema.integer("sending_time_max", &C::sending_time_max_s, {0, 86'400}, "s",
                 "How far SendingTime (52) of the peer may be from this host's clock: beyond it "
                 "the message is rejected, and the session ended; 0: it is not looked at");
  schema.text("start_time", &C::start_time,
              "When the session opens, UTC: \"08:00\", \"08:00:00\"; before it nobody logs on, and "
              "with it both sequence numbers begin with 1. Empty: it never ends");
  schema.text(
      "end_time", &C::end_time,
      "When it ends, by a logout: orders that are still open are over then, positions stay");
  schema.text("start_day", &C::start_day,
              "Day on which a weekly session opens, \"mon\"; empty: every day");
  schema.text("end_day", &C::end_day, "Day on which it ends");
  schema.flag("next_expected", &C::next_expected,
              "Say in our Logon which number we expect next (NextExpectedMsgSeqNum, 789), and send "
              "again what the peer lacks by its own, both without ResendRequests; FIX 4.4 alone");
  schema.text("username", &C::username,
              "Username (553) of the Logon, FIX 4.4 alone; empty: none, or any");
  schema.path("password_file", &C::password_file,
              "File whose first line is the password of the Logon: Password (554), in FIX 4.2 "
              "RawData (96); chmod 600. Or \"env:NAME\". Empty: none, or any. It travels in the "
              "clear");
  schema.flag("allow_reset", &C::allow_reset,
              "Take a Logon of the peer that starts the sequence numbers anew (ResetSeqNumFlag, "
              "141=Y): what is still to be sent again is lost, and a stranger's leaves the real "
              "peer with numbers that do not fit any more");
  schema.check([section](const C& config, config::Problems& problems) {
    if (!config.username.empty() &&
        (config.password_file.empty() || config.version == Version::k42))
      problems.add("username", "goes with password_file, and is of version 4.4 alone");
    if (config.next_expected && config.version == Version::k42)
      problems.add("next_expected", "is of version 4.4 alone");
    try {
      (void)config.times();
    } catch (const Error& error) {
      problems.add("start_time", error.what());
    }
    try {
      (void)config.peer_rule(section);
    } catch (const net::NetError& error) {
      problems.add("peers", error.what());
    }
  });
  return schema;
}

SessionOptions SessionConfig::options(SessionRole role, const std::string& section) const {
  SessionOptions options;
  options.role = role;
  options.version = version;
  options.sender = sender;
  options.target = target;
  options.store_path = store;
  options.store_messages = store_messages;
  options.allow_reset = allow_reset;
  options.next_expected = next_expected;
  options.username = username;
  if (!password_file.empty())
    options.password = net::read_secret(password_file, section + ".password_file");
  options.validate = validate;
  options.gap_timeout_s = gap_timeout_s;
  options.sending_time_max_s = sending_time_max_s;
  options.times = times();
  return options;
}

}  // namespace tickpath::fix
