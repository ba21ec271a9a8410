#include "tools/cli/cross_check_endpoints.hpp"

#include <filesystem>

#include <arpa/inet.h>

#include "common/base/error.hpp"

namespace tickpath::cli {
namespace {

bool is_numeric(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

}  // namespace

std::optional<config::Address> address_of(const std::string& endpoint) {
  try {
    return config::parse_address(endpoint);
  } catch (const Error&) {
    return std::nullopt;  // a path
  }
}

bool reaches(const std::string& client, const std::string& listener) {
  const auto to = address_of(client);
  const auto at = address_of(listener);
  if (!to || !at)
    return std::filesystem::path(client).lexically_normal() ==
           std::filesystem::path(listener).lexically_normal();
  if (to->port != at->port) return false;
  const bool comparable = is_numeric(to->host) && is_numeric(at->host) && at->host != "0.0.0.0";
  return !comparable || to->host == at->host;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || (is_numeric(host) && host.starts_with("127."));
}

}  // namespace tickpath::cli
