// The keys of a FIX session, the same for who connects (oeg's [venue]) and for who listens (sim's
// [[orders.session]]).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/fix/session.hpp"
#include "common/net/peer_rule.hpp"

namespace tickpath::fix {

struct SessionConfig {
  std::string sender{}, target{};
  Version version = Version::k42;
  bool validate = true;
  std::string store{};
  std::uint32_t store_messages = 1u << 15;
  std::uint32_t gap_timeout_s = 10;
  std::uint32_t sending_time_max_s = 120;                        // as QuickFIX's MaxLatency
  std::string start_time{}, end_time{}, start_day{}, end_day{};  // SessionTimes
  bool allow_reset = false;
  bool next_expected = false;
  std::string username{}, password_file{};    // empty: none
  std::vector<std::string> peers{}, users{};  // net::PeerRule

  SessionTimes times() const { return {start_time, end_time, start_day, end_day}; }  // throws Error
  // `section`: where the keys are, for texts. Throw net::NetError; options(), which reads the
  // password, Error.
  net::PeerRule peer_rule(const std::string& section) const { return {peers, users, section}; }
  SessionOptions options(SessionRole role, const std::string& section) const;
};

// section: of the keys ("venue"), for texts.
config::Schema<SessionConfig> session_schema(const std::string& section);

}  // namespace tickpath::fix
