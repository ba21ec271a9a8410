// Checks of the feed's addresses and logins in a configuration, the same for who sends the lines
// and who receives them.
#pragma once

#include <string>

#include "common/base/secret.hpp"
#include "common/config/config.hpp"
#include "common/config/values.hpp"
#include "common/feeds/live/live_format.hpp"
#include "common/net/endpoint.hpp"
#include "common/wire/shard.hpp"

namespace tickpath::control {

// The lines of a feed, as who sends them and who takes them have them.
struct FeedLines {
  feeds::FeedProtocol protocol = feeds::FeedProtocol::kItch50;
  config::Address group{"239.255.7.1", 7701};
  std::string interface = "127.0.0.1";
  std::string source, source_b;  // empty: any port, whoever sends first; line A's, its next port
  std::string group_b;           // empty: there is one line
  std::string interface_b;       // empty: as interface
};
config::Schema<FeedLines> feed_lines_schema();
inline const feeds::LiveFormat& format_of(const FeedLines& lines) noexcept {
  return feeds::format_of(lines.protocol);
}
// Checks the keys under "feed.".
void check_lines(const FeedLines& lines, config::Problems& problems);
// `key` is for asking again what was lost: `text` must be empty where the format has no such thing.
void check_recoverable(const FeedLines& lines, const char* key, const std::string& text,
                       config::Problems& problems);

// The shard of a key that is "k/n" or empty (all symbols). Of a text that is no shard the whole:
// check_shard() has refused it.
wire::Shard shard_of(const std::string& text);
// Anything else is a problem of `key`.
void check_shard(const char* key, const std::string& text, config::Problems& problems);

// A text that is "host:port" or empty (none); anything else is a problem of `key`.
void check_endpoint(const char* key, const std::string& text, config::Problems& problems);

// feed.source: what the lines are sent from, the same in who sends them and who takes them. Port 0:
// it is empty. Throws net::NetError.
net::Endpoint feed_source(const std::string& source);
// The endpoint of line B: its own, or line A's with the next port.
net::Endpoint feed_source_b(const std::string& source, const std::string& source_b);
// Empty or addresses, one of line B alone next to line A's.
void check_sources(const std::string& source, const std::string& source_b,
                   config::Problems& problems);

// feed.group_b: empty, or a multicast group and port that are not line A's.
void check_second_line(const config::Address& line_a, const std::string& line_b,
                       config::Problems& problems);

// feed.snapshot.username: no longer than the field of a login request (SoupBinTCP 3.00, 2.3.1).
void check_snapshot_username(const std::string& username, config::Problems& problems);
// What feed.snapshot.password_file leads to, likewise; empty without one. Throws net::NetError.
Secret read_snapshot_password(const std::string& source);

}  // namespace tickpath::control
