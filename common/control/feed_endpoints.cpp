#include "common/control/feed_endpoints.hpp"

#include <optional>

#include "common/net/endpoint.hpp"

namespace tickpath::control {
namespace {

std::optional<net::Endpoint> parse(const char* key, const std::string& text,
                                   config::Problems& problems) {
  try {
    if (!text.empty()) return net::parse_endpoint(text);
  } catch (const net::NetError& error) {
    problems.add(key, error.what());
  }
  return {};
}

}  // namespace

void check_endpoint(const char* key, const std::string& text, config::Problems& problems) {
  (void)parse(key, text, problems);
}

void check_second_line(const config::Address& line_a, const std::string& line_b,
                       config::Problems& problems) {
  const auto group = parse("feed.group_b", line_b, problems);
  if (!group) return;
  if (!group->is_multicast())
    problems.add("feed.group_b", "is not a multicast group: 224.0.0.0 to 239.255.255.255");
  if (group->text() == config::format_address(line_a))
    problems.add("feed.group_b", "is line A's: the two lines need different groups or ports");
}

void check_snapshot_login(const std::string& username, const std::string& password,
                          config::Problems& problems) {
  if (username.size() > 6) problems.add("feed.snapshot.username", "has more than 6 characters");
  if (password.size() > 10) problems.add("feed.snapshot.password", "has more than 10 characters");
}

}  // namespace tickpath::control
