#include "common/control/feed_endpoints.hpp"

#include <optional>

#include "common/net/endpoint.hpp"
#include "common/net/secret_file.hpp"

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

net::Endpoint feed_source(const std::string& source) {
  return source.empty() ? net::Endpoint{} : net::parse_endpoint(source);
}

net::Endpoint feed_source_b(const std::string& source, const std::string& source_b) {
  if (!source_b.empty()) return net::parse_endpoint(source_b);
  net::Endpoint next = feed_source(source);
  if (next.port != 0) ++next.port;
  return next;
}

void check_sources(const std::string& source, const std::string& source_b,
                   config::Problems& problems) {
  const auto a = parse("feed.source", source, problems);
  const auto b = parse("feed.source_b", source_b, problems);
  if (a && a->port == 65'535 && source_b.empty())
    problems.add("feed.source", "has no next port for line B: give a lower one");
  if (a && b && *a == *b)
    problems.add("feed.source_b", "is line A's: the two lines need different ports");
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

void check_snapshot_username(const std::string& username, config::Problems& problems) {
  if (username.size() > 6) problems.add("feed.snapshot.username", "has more than 6 characters");
}

Secret read_snapshot_password(const std::string& source) {
  if (source.empty()) return {};
  Secret password = net::read_secret(source, "feed.snapshot.password_file");
  if (password.size() > 10)
    throw net::NetError("the password of feed.snapshot.password_file has more than 10 characters");
  return password;
}

}  // namespace tickpath::control
