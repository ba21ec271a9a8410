#include "tools/cli/port_offset.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/base/error.hpp"
#include "common/net/endpoint.hpp"
#include "common/net/file_descriptor.hpp"
#include "tools/cli/child.hpp"
#include "tools/cli/cross_check_endpoints.hpp"
#include "tools/cli/effective_config.hpp"

namespace tickpath::cli {
namespace {

struct ConfiguredAddress {
  const EffectiveConfig* config;
  std::string key;
  config::Address address;

  // All of sim's are: nobody is asked by it.
  bool is_own() const {
    return config->program == "sim" || key == "fabric.endpoint" || key == "publish.group";
  }
  std::string text() const { return config::format_address(address); }
};

// Every text that is an address, but in tables whose keys are a plugin's.
void add_addresses(const EffectiveConfig& config, const toml::node& node, const std::string& key,
                   std::vector<ConfiguredAddress>& addresses) {
  const auto below = [&](const std::string& name, const toml::node& inner) {
    add_addresses(config, inner, key.empty() ? name : key + "." + name, addresses);
  };
  if (const toml::table* const table = node.as_table()) {
    for (const auto& [name, inner] : *table)
      if (name != "parameters") below(std::string(name), inner);
  } else if (const toml::array* const array = node.as_array();
             array && array->is_array_of_tables()) {
    for (std::size_t i = 0; i < array->size(); ++i) below(std::to_string(i), *array->get(i));
  } else if (const auto text = node.value<std::string>()) {
    if (const auto address = address_of(*text); address && address->port != 0)
      addresses.push_back({&config, key, *address});
  }
}

std::vector<ConfiguredAddress> addresses_of(const std::vector<EffectiveConfig>& configs) {
  std::vector<ConfiguredAddress> addresses;
  for (const EffectiveConfig& config : configs)
    add_addresses(config, parsed(config), "", addresses);
  return addresses;
}

// 0: it takes none of its own, or the fabric does.
int socket_type(const ConfiguredAddress& each) {
  if (each.key.starts_with("feed.source") || each.key == "feed.retransmission.listen")
    return SOCK_DGRAM;
  return each.key.ends_with("listen") ? SOCK_STREAM : 0;
}

// As the programs do: a TCP port whose listener is gone may be had again, one of UDP is not shared.
bool is_taken(const ConfiguredAddress& each, int type) {
  net::Endpoint endpoint;
  try {
    endpoint = {net::parse_address(each.address.host, each.key), each.address.port};
  } catch (const Error&) {
    return false;  // a name
  }
  const net::FileDescriptor socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const int reuse = type == SOCK_STREAM ? 1 : 0;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  const sockaddr_in at = endpoint.to_sockaddr();
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 &&
         errno == EADDRINUSE;
}

}  // namespace

std::map<std::string, std::vector<std::string>> shifted_ports(
    const std::vector<EffectiveConfig>& configs, int offset) {
  const std::vector<ConfiguredAddress> addresses = addresses_of(configs);
  std::map<std::string, std::vector<std::string>> settings;
  std::vector<std::string> problems;
  for (const ConfiguredAddress& each : addresses) {
    const bool ours = std::ranges::any_of(addresses, [&](const ConfiguredAddress& own) {
      return own.is_own() && reaches(each.text(), own.text());
    });
    if (!ours) continue;
    const int port = each.address.port + offset;
    if (port > std::numeric_limits<std::uint16_t>::max())
      problems.push_back(each.config->path + ": " + each.key + " is " + each.text() +
                         ", and --port-offset " + std::to_string(offset) +
                         " leads beyond port 65535; give a smaller one");
    settings[each.config->name].push_back(each.key + "=" + each.address.host + ":" +
                                          std::to_string(port));
  }
  if (!problems.empty()) throw config::ConfigError(problems);
  return settings;
}

std::vector<EffectiveConfig> effective_configs(const std::vector<ConfiguredProgram>& programs,
                                               const std::string& binary_dir,
                                               const std::string& run_dir) {
  std::vector<EffectiveConfig> configs;
  for (const ConfiguredProgram& program : programs) {
    std::vector<std::string> arguments{binary_dir + "/" + program.program, program.path,
                                       "--print-config", "--run-dir", run_dir};
    for (const std::string& setting : program.settings)
      arguments.insert(arguments.end(), {"--set", setting});
    const std::string output = run_dir + "/" + program.name + ".check";
    Child child(arguments, output, {});
    constexpr int kPatienceMs = 30'000;
    const bool told = child.wait(kPatienceMs) && child.succeeded();
    std::ostringstream text;
    text << std::ifstream(output).rdbuf();
    std::filesystem::remove(output);
    if (told) configs.push_back({program.name, program.program, program.path, text.str()});
  }
  return configs;
}

std::vector<std::string> taken_ports(const std::vector<EffectiveConfig>& configs) {
  std::vector<std::string> lines;
  for (const ConfiguredAddress& each : addresses_of(configs)) {
    const int type =
        each.config->host.empty() && each.config->program == "sim" ? socket_type(each) : 0;
    if (type != 0 && is_taken(each, type))
      lines.push_back(each.config->path + ": " + each.key + " is " + each.text() + " (" +
                      (type == SOCK_DGRAM ? "UDP" : "TCP") + ")");
  }
  return lines;
}

}  // namespace tickpath::cli
