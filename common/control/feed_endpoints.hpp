// Checks of the feed's addresses and logins in a configuration, the same for who sends the lines
// and who receives them.
#pragma once

#include <string>

#include "common/base/secret.hpp"
#include "common/config/config.hpp"
#include "common/config/values.hpp"
#include "common/net/endpoint.hpp"

namespace tickpath::control {

// A text that is "host:port" or empty (none); anything else is a problem of `key`.
void check_endpoint(const char* key, const std::string& text, config::Problems& problems);

// feed.source: what the lines are sent from, the same in who sends them and who takes them. Port 0:
// it is empty. Throws net::NetError.
net::Endpoint feed_source(const std::string& source);
// Of line B: its own, or line A's with the next port.
net::Endpoint feed_source_b(const std::string& source, const std::string& source_b);
// Empty or addresses, one of line B alone next to line A's.
void check_sources(const std::string& source, const std::string& source_b,
                   config::Problems& problems);

// Adds the keys to a program's schema.
template <class Config, class Member, class MemberB>
void add_feed_sources(config::Schema<Config>& schema, Member source, MemberB source_b) {
  schema.text("feed.source", source,
              "Address and port that line A is sent from, the same in sim and mdh: packets of "
              "others are refused; empty: any, and mdh keeps to the first");
  schema.text("feed.source_b", source_b,
              "Address and port that line B is sent from; empty: feed.source, its next port");
}

// feed.group_b: empty, or a multicast group and port that are not line A's.
void check_second_line(const config::Address& line_a, const std::string& line_b,
                       config::Problems& problems);

// feed.snapshot.username: no longer than the field of a login request (SoupBinTCP 3.00, 2.3.1).
void check_snapshot_username(const std::string& username, config::Problems& problems);
// What feed.snapshot.password_file leads to, likewise; empty without one. Throws net::NetError.
Secret read_snapshot_password(const std::string& source);

}  // namespace tickpath::control
