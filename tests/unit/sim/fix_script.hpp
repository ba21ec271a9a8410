// A FIX peer that follows a script, against the exchange's order entry: real sessions and matching,
// and a byte stream between them.
//
// A script is lines; | stands for the separator:
//   connect              a new connection
//   logon                a Logon, and its answer
//   > D 11=1|21=1|...    sends a message of type D with the next number. A header field in it (8,
//   34,
//                        43, 49, 52, 56, ...) replaces the usual one, or is added behind them.
//   >! 8=FIX.4.2|9=..    sends the bytes as they are
//   >~ D 11=1|...        as >, with a wrong checksum (and `>- D ...`: with a wrong length)
//   < 8 150=0|39=0       the next message from the exchange is of this type and has these fields;
//                        `!58` says that it has no such field
//   <none                there is no next message: everything so far was answered
//   <closed              the exchange has closed the connection
//   drop                 closes ours
//   restart              the exchange ends and starts again on its stores
//   seq 7                the next number that we send
//   4.2 LINE, 4.4 LINE   a line of one version
// Everything from # on is a comment.
#pragma once

#include <ostream>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "order_entry.hpp"

namespace tickpath::sim {

class FixScript : OrderEntry {
 public:
  explicit FixScript(fix::Version version, bool cancel_on_disconnect = false,
                     std::uint32_t sending_time_max_s = 0, bool allow_reset = false,
                     const FeeSchedule& fees = {});
  ~FixScript();

  // Runs it; the empty string, or what went wrong in which line.
  std::string run(const std::string& script);
  // As run(), after a logon unless it begins with "connect"; and nothing may come that it does not
  // expect, unless it ends without a connection or with a Logout.
  std::string run_case(const std::string& script);

  Matcher& matcher() noexcept { return *matcher_; }
  Market& market() noexcept { return *market_; }

 private:
  std::string line(const std::string& text);
  std::string expect(const std::string& text);
  void open();
  void connect();
  void turn();
  std::string message(const std::string& text);
  void send(const std::string& bytes);
  bool next_message(std::string& message);

  fix::Version version_;
  bool cancel_on_disconnect_;
  std::uint32_t sending_time_max_s_;
  bool allow_reset_;
  FeeSchedule fees_;
  std::uint16_t incarnation_ = 0;
  int socket_ = -1;
  bool closed_ = false;
  std::uint32_t seq_ = 1;
  std::string heard_;
};

// A script with a name that says what the exchange does, run in each version.
struct Script {
  const char* name;
  const char* text;
};
inline void PrintTo(const Script& script, std::ostream* out) { *out << script.name; }

inline constexpr fix::Version kBothVersions[] = {fix::Version::k42, fix::Version::k44};

class ScriptTest : public ::testing::TestWithParam<std::tuple<Script, fix::Version>> {};

template <std::size_t N>
auto both_versions(const Script (&scripts)[N]) {
  return ::testing::Combine(::testing::ValuesIn(scripts), ::testing::ValuesIn(kBothVersions));
}

inline std::string script_name(const ::testing::TestParamInfo<ScriptTest::ParamType>& info) {
  return std::string(std::get<0>(info.param).name) +
         (std::get<1>(info.param) == fix::Version::k42 ? "_42" : "_44");
}

}  // namespace tickpath::sim
