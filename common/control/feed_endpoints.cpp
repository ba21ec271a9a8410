#include "common/control/feed_endpoints.hpp"

#include <optional>
#include <utility>

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

config::Schema<FeedLines> feed_lines_schema() {
  using L = FeedLines;
  config::Schema<L> schema;
  std::string help;
  for (const feeds::LiveFormat& format : feeds::live_formats())
    help += std::string(help.empty() ? "What the feed speaks: " : ", or ") + format.text;
  config::FieldHandle protocol = schema.choice("protocol", &L::protocol, {}, std::move(help));
  for (const feeds::LiveFormat& format : feeds::live_formats())
    protocol.or_named(format.key, static_cast<std::int64_t>(format.protocol));
  schema.address("group", &L::group, "Multicast group and port of the feed");
  schema.text("interface", &L::interface,
              "Local address of the interface to send from, or to join the group on");
  schema.text("source", &L::source,
              "Address and port that line A is sent from, the same in sim and mdh: packets of "
              "others are refused; empty: any, and mdh keeps to the first");
  schema.text("source_b", &L::source_b,
              "Address and port that line B is sent from; empty: feed.source, its next port");
  schema.text("group_b", &L::group_b,
              "Group and port of the redundant line B, an address \"host:port\"; empty: none");
  schema.text("interface_b", &L::interface_b, "The same for line B; empty: as feed.interface");
  return schema;
}

void check_lines(const FeedLines& lines, config::Problems& problems) {
  check_sources(lines.source, lines.source_b, problems);
  check_second_line(lines.group, lines.group_b, problems);
}

void check_recoverable(const FeedLines& lines, const char* key, const std::string& text,
                       config::Problems& problems) {
  const feeds::LiveFormat& format = format_of(lines);
  if (!format.recoverable && !text.empty())
    problems.add(key, "is not for feed.protocol = \"" + std::string(format.key) +
                          "\": only line B fills a gap there");
}

wire::Shard shard_of(const std::string& text) {
  return wire::Shard::parse(text).value_or(wire::Shard{});
}

void check_shard(const char* key, const std::string& text, config::Problems& problems) {
  if (!wire::Shard::parse(text))
    problems.add(key, "\"" + text + "\" is no shard: write \"k/n\" with 1 <= k <= n <= " +
                          std::to_string(wire::kShardsMax) + ", such as \"2/4\"");
}

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
