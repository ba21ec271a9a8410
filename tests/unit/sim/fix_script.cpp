#include "fix_script.hpp"

#include <sstream>

#include <unistd.h>

#include "common/clock/clock.hpp"
#include "tests/support/fix_bytes.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sockets.hpp"

namespace tickpath::sim {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

bool begins(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

std::string utc_now() {
  fix::UtcText text;
  return {text.at(clock::realtime_ns()), fix::UtcText::kLength};
}

// "|35=D|...|" of a message, to look for "|150=0|" in.
std::string readable(const std::string& message) { return "|" + test_support::with_bars(message); }

}  // namespace

FixScript::FixScript(fix::Version version, bool cancel_on_disconnect,
                     std::uint32_t sending_time_max_s, bool allow_reset, const FeeSchedule& fees)
    : version_(version),
      cancel_on_disconnect_(cancel_on_disconnect),
      sending_time_max_s_(sending_time_max_s),
      allow_reset_(allow_reset),
      fees_(fees) {
  open();
}

FixScript::~FixScript() {
  if (socket_ >= 0) ::close(socket_);
}

void FixScript::open() {
  GatewaySession session;
  session.fix.role = fix::SessionRole::kAcceptor;
  session.fix.version = version_;
  session.fix.sender = "SIM";
  session.fix.target = "OEG";
  session.fix.store_path = folder_ / "acceptor";
  session.fix.store_messages = 64;
  session.fix.sending_time_max_s = sending_time_max_s_;
  session.fix.allow_reset = allow_reset_;
  session.cancel_on_disconnect = cancel_on_disconnect_;
  GatewayOptions options = gateway_options();
  options.sessions.push_back(session);
  options.fees = fees_;
  open_exchange(options, ++incarnation_);
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 60, 20'000));
  market_->apply(add(7, "ZAAA", 2, Side::kSell, 500, 20'100));
}

void FixScript::connect() {
  if (socket_ >= 0) ::close(socket_);
  const auto [theirs, ours] = test_support::socket_pair();
  // The exchange takes a new connection once it has seen the end of the one before.
  (void)test_support::turn_until([&] { return !gateway_->connected(0); }, [&] { turn(); });
  gateway_->attach(0, theirs);
  socket_ = ours;
  closed_ = false;
  heard_.clear();
}

void FixScript::turn() {
  gateway_->poll();
  gateway_->flush();
  char buffer[65536];
  if (socket_ < 0 || closed_) return;
  const ssize_t got = ::recv(socket_, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (got > 0) heard_.append(buffer, static_cast<std::size_t>(got));
  closed_ = got == 0;
}

// "D 11=1|..." as the bytes of a message.
std::string FixScript::message(const std::string& text) {
  const std::string type = text.substr(0, text.find(' '));
  const std::string body = type.size() < text.size() ? text.substr(type.size() + 1) : "";
  std::string begin = std::string(fix::begin_string(version_));
  std::vector<std::pair<std::string, std::string>> header = {
      {"35", type}, {"49", "OEG"}, {"56", "SIM"}, {"34", std::to_string(seq_)}, {"52", utc_now()}};
  std::string rest;
  std::string more;
  bool own_number = false;
  for (const std::string& field : split(body, '|')) {
    const std::string tag = field.substr(0, field.find('='));
    const std::string value = tag.size() < field.size() ? field.substr(tag.size() + 1) : "";
    const auto known = std::find_if(header.begin(), header.end(),
                                    [&](const auto& entry) { return entry.first == tag; });
    own_number |= tag == "34";
    if (tag == "8")
      begin = value;
    else if (known != header.end() && rest.empty())
      known->second = value;
    else if (rest.empty() && (tag == "43" || tag == "97" || tag == "122" || tag == "50"))
      more += field + "|";
    else
      rest += field + "|";
  }
  if (!own_number) ++seq_;
  std::string fields;
  for (const auto& [tag, value] : header) fields += value == "-" ? "" : tag + "=" + value + "|";
  fields = test_support::with_separators(fields + more + rest);
  return "8=" + begin + fix::kSoh + "9=" + std::to_string(fields.size()) + fix::kSoh + fields;
}

void FixScript::send(const std::string& bytes) {
  (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

bool FixScript::next_message(std::string& message) {
  const fix::Frame frame = fix::frame(heard_, 65536);
  if (frame.status != fix::FrameStatus::kMessage) return false;
  message = heard_.substr(0, frame.length);
  heard_.erase(0, frame.length);
  return true;
}

std::string FixScript::expect(const std::string& text) {
  const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
  std::string got;
  while (!next_message(got)) {
    if (closed_) return "the connection was closed";
    if (std::chrono::steady_clock::now() > end) return "nothing came";
    turn();
  }
  const std::string seen = readable(got);
  const std::string type = text.substr(0, text.find(' '));
  if (seen.find("|35=" + type + "|") == std::string::npos) return "came " + seen;
  if (type.size() == text.size()) return {};
  for (const std::string& field : split(text.substr(type.size() + 1), '|')) {
    const bool absent = field[0] == '!';
    const std::string wanted = absent ? "|" + field.substr(1) + "=" : "|" + field + "|";
    if ((seen.find(wanted) != std::string::npos) == absent) return field + " in " + seen;
  }
  return {};
}

std::string FixScript::line(const std::string& text) {
  const auto trailer = [](const std::string& bytes, unsigned add) {
    char sum[16];
    std::snprintf(sum, sizeof(sum), "10=%03u\x01", (fix::checksum(bytes) + add) % 256);
    return bytes + sum;
  };
  if (text == "connect") return connect(), "";
  if (text == "drop") return ::close(socket_), socket_ = -1, "";
  if (text == "restart") return open(), "";
  if (begins(text, "seq "))
    return seq_ = static_cast<std::uint32_t>(std::stoul(text.substr(4))), "";
  if (text == "logon") {
    send(trailer(message("A 98=0|108=30"), 0));
    return expect("A 98=0|108=30");
  }
  if (begins(text, ">! ")) return send(test_support::with_separators(text.substr(3))), "";
  if (begins(text, ">~ ")) return send(trailer(message(text.substr(3)), 1)), "";
  if (begins(text, ">- ")) {
    std::string bytes = message(text.substr(3));
    const std::size_t at = bytes.find(std::string(1, fix::kSoh) + "9=") + 3;
    bytes.replace(at, bytes.find(fix::kSoh, at) - at, "20");
    return send(trailer(bytes, 0)), "";
  }
  if (begins(text, "> ")) return send(trailer(message(text.substr(2)), 0)), "";
  if (text == "<none") {
    // The exchange answers in order: what is not there before the answer to this never comes.
    send(trailer(message("1 112=nothing else"), 0));
    return expect("0 112=nothing else");
  }
  if (text == "<closed") {
    const bool closed = test_support::turn_until([&] { return closed_; }, [&] { turn(); });
    return closed ? "" : "it is open still";
  }
  if (begins(text, "< ")) return expect(text.substr(2));
  return "no line of a script";
}

std::string FixScript::run(const std::string& script) {
  const std::string mine = version_ == fix::Version::k42 ? "4.2 " : "4.4 ";
  const std::string other = version_ == fix::Version::k42 ? "4.4 " : "4.2 ";
  int number = 0;
  std::istringstream lines(script);
  for (std::string text; std::getline(lines, text);) {
    ++number;
    text = text.substr(0, text.find('#'));
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    if (text.empty() || begins(text, other)) continue;
    if (begins(text, mine)) text.erase(0, mine.size());
    if (const std::string wrong = line(text); !wrong.empty())
      return "line " + std::to_string(number) + ", '" + text + "': " + wrong;
  }
  return {};
}

std::string FixScript::run_case(const std::string& script) {
  const bool connects = begins(script, "\nconnect\n");
  if (const std::string wrong = run(connects ? script : "connect\nlogon" + script); !wrong.empty())
    return wrong;
  const std::size_t last = script.rfind('\n', script.size() - 2);
  return socket_ < 0 || closed_ || begins(script.substr(last + 1), "< 5") ? "" : run("<none");
}

}  // namespace tickpath::sim
