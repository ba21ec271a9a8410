// Checks of the feed's addresses and logins in a configuration, the same for who sends the lines
// and who receives them.
#pragma once

#include <string>

#include "common/config/config.hpp"
#include "common/config/values.hpp"

namespace tickpath::control {

// A text that is "host:port" or empty (none); anything else is a problem of `key`.
void check_endpoint(const char* key, const std::string& text, config::Problems& problems);

// feed.group_b: empty, or a multicast group and port that are not line A's.
void check_second_line(const config::Address& line_a, const std::string& line_b,
                       config::Problems& problems);

// feed.snapshot.username and .password: no longer than the fields of a login request
// (SoupBinTCP 3.00, 2.3.1).
void check_snapshot_login(const std::string& username, const std::string& password,
                          config::Problems& problems);

}  // namespace tickpath::control
