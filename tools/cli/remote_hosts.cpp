#include "tools/cli/remote_hosts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/replace_file.hpp"
#include "common/config/config.hpp"
#include "common/control/admin_client.hpp"

namespace tickpath::cli {

namespace fs = std::filesystem;
using control::Json;

namespace {

constexpr const char* kFileName = "/hosts.toml";
constexpr const char* kRecord = ".remote";
constexpr std::int64_t kHostsMax = 64;
constexpr std::int64_t kHostSecondNs = 1'000'000'000;

// What else ssh can do stays with ~/.ssh/config: some options run commands on this host, some let
// in a host that is not known.
constexpr std::array<std::string_view, 13> kOptions{
    "AddressFamily", "BindAddress",  "BindInterface",     "CertificateFile", "Ciphers",
    "Compression",   "HostKeyAlias", "IdentitiesOnly",    "IdentityFile",    "IPQoS",
    "Port",          "ProxyJump",    "UserKnownHostsFile"};

struct HostsFile {
  std::vector<Host> hosts;
};

config::Schema<Host> host_schema() {
  config::Schema<Host> schema;
  schema.text("name", &Host::name, "What output and errors call it").required();
  schema.text("ssh", &Host::destination, "HOST or USER@HOST, as ssh takes it").required();
  schema.text("folder", &Host::folder, "There, absolute: the programs run in it").required();
  schema.text("binaries", &Host::binaries, "Where the programs are there, below the folder");
  schema.text("run_dir", &Host::run_dir, "Their run directory there, below the folder");
  schema.texts("programs", &Host::programs, "Files of this directory, without .toml").required();
  schema.texts("options", &Host::options, "Of ssh: \"Port=2222\", \"IdentityFile=...\"");
  schema.duration("patience", &Host::patience_ns, {kHostSecondNs, 600 * kHostSecondNs},
                  "Without a connection for so long the programs there are ended (not with "
                  "--detach)");
  return schema;
}

bool only(std::string_view text, std::string_view further) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           further.find(c) != std::string_view::npos;
  });
}

// None of these means anything to a shell, whichever it is.
bool is_plain_path(const std::string& path) {
  return only(path, "/._-+@=,") && path.front() != '-';
}

bool is_destination(const std::string& text) {
  return only(text, "._-@:") && text.front() != '-' &&
         std::count(text.begin(), text.end(), '@') <= 1 && text.front() != '@' &&
         text.back() != '@';
}

// ssh makes a command for a shell of these.
bool are_hops(const std::string& hops) {
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = hops.find(',', begin);
    if (!is_destination(hops.substr(begin, end - begin))) return false;
    if (end == std::string::npos) return true;
    begin = end + 1;
  }
}

std::string option_problem(const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  if (std::find(kOptions.begin(), kOptions.end(), name) == kOptions.end()) {
    std::string names;
    for (const std::string_view each : kOptions) names += " " + std::string(each);
    return "'" + option + "': write Name=value, with one of" + names +
           "; any other option can be given to the host in ~/.ssh/config";
  }
  const bool printable = std::all_of(option.begin(), option.end(), [](char c) {
    return std::isprint(static_cast<unsigned char>(c)) != 0;
  });
  if (option.size() <= name.size() + 1 || !printable)
    return "'" + name + "' has no value, or one that cannot be printed";
  if (name == "ProxyJump" && !are_hops(option.substr(name.size() + 1)))
    return "'" + option + "': write HOST, USER@HOST or either with :PORT, several with commas";
  return {};
}

void check_host(const Host& host, const std::string& at, config::Problems& problems) {
  if (!only(host.name, "._-"))
    problems.add(at + "name", "'" + host.name + "': letters, digits, '.', '_' and '-' only");
  if (!is_destination(host.destination))
    problems.add(at + "ssh", "'" + host.destination + "' is no HOST or USER@HOST");
  if (!is_plain_path(host.folder) || host.folder.front() != '/')
    problems.add(at + "folder",
                 "'" + host.folder + "': an absolute path of letters, digits and /._-+@=, only");
  for (const auto& [key, path] :
       {std::pair("binaries", &host.binaries), {"run_dir", &host.run_dir}})
    if (!is_plain_path(*path))
      problems.add(at + key, "'" + *path + "': a path of letters, digits and /._-+@=, only");
  for (const std::string& program : host.programs)
    if (const std::string path = control::admin_path(host.there(host.run_dir), program);
        path.size() >= sizeof(sockaddr_un::sun_path))
      problems.add(at + "run_dir", "'" + path + "' is too long for a socket (107 bytes)");
  if (host.programs.empty()) problems.add(at + "programs", "no program runs there: name one");
  for (const std::string& option : host.options)
    if (const std::string problem = option_problem(option); !problem.empty())
      problems.add(at + "options", problem);
}

void check_all(const HostsFile& file, const std::string& config_dir, config::Problems& problems) {
  std::set<std::string> names;
  std::set<std::string> programs;
  std::set<std::string> places;
  for (std::size_t i = 0; i < file.hosts.size(); ++i) {
    const Host& host = file.hosts[i];
    const std::string at = "host." + std::to_string(i) + ".";
    check_host(host, at, problems);
    if (!names.insert(host.name).second)
      problems.add(at + "name", "two hosts are called '" + host.name + "'");
    if (!places.insert(host.destination + " " + host.there(host.run_dir)).second)
      problems.add(at + "run_dir", "another [[host]] has this run directory on the same host");
    for (const std::string& program : host.programs) {
      if (!programs.insert(program).second)
        problems.add(at + "programs", "'" + program + "' is named twice: it runs on one host");
      if (!only(program, "._-") || !fs::exists(config_dir + "/" + program + ".toml"))
        problems.add(at + "programs", "there is no '" + program + ".toml' in '" + config_dir + "'");
    }
  }
}

std::string ssh_path() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = folder + "/ssh"; ::access(file.c_str(), X_OK) == 0) return file;
  throw Error(
      "there is no ssh in PATH: programs of other hosts are started by it (Debian: "
      "apt-get install openssh-client)");
}

std::string record_path(const std::string& run_dir, const std::string& name) {
  return run_dir + "/" + name + kRecord;
}

}  // namespace

std::string Host::there(const std::string& path) const {
  return path.starts_with('/') ? path : folder + "/" + path;
}

std::vector<Host> read_hosts(const std::string& config_dir) {
  const std::string path = config_dir + kFileName;
  std::error_code none;
  if (!fs::exists(path, none)) return {};
  config::Schema<HostsFile> schema;
  schema.tables("host", &HostsFile::hosts, host_schema(), {0, kHostsMax},
                "Another host, and what runs there");
  schema.check([&](const HostsFile& file, config::Problems& problems) {
    check_all(file, config_dir, problems);
  });
  return config::load_file(schema, path).hosts;
}

const Host* host_of(const std::vector<Host>& hosts, const std::string& instance) {
  for (const Host& host : hosts)
    if (std::find(host.programs.begin(), host.programs.end(), instance) != host.programs.end())
      return &host;
  return nullptr;
}

std::vector<std::string> agent_command(const Host& host, const std::string& forward) {
  // Three of these without an answer end the connection, within the host's patience.
  const std::int64_t alive_s = std::max<std::int64_t>(1, host.patience_ns / kHostSecondNs / 4);
  std::vector<std::string> command{ssh_path(), "-T"};
  for (const std::string& option : host.options) command.insert(command.end(), {"-o", option});
  for (const char* option :
       {"BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", "ConnectTimeout=10",
        "ConnectionAttempts=1", "ServerAliveCountMax=3", "ControlMaster=no", "ControlPath=none",
        "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "RemoteCommand=none",
        "RequestTTY=no", "StreamLocalBindUnlink=yes", "LogLevel=ERROR"})
    command.insert(command.end(), {"-o", option});
  command.insert(command.end(), {"-o", "ServerAliveInterval=" + std::to_string(alive_s)});
  if (!forward.empty()) command.insert(command.end(), {"-L", forward});
  // What ssh hands to the shell there is a path of plain characters and one word.
  command.insert(command.end(),
                 {"--", host.destination, host.there(host.binaries) + "/tickpath agent"});
  return command;
}

std::string ssh_text(const Host& host) {
  std::string text = "ssh";
  for (const std::string& option : host.options) text += " -o " + option;
  return text + " " + host.destination;
}

void write_remote(const std::string& run_dir, const RemoteProgram& program) {
  const Host& host = program.host;
  const Json json{{"host",
                   {{"name", host.name},
                    {"destination", host.destination},
                    {"folder", host.folder},
                    {"binaries", host.binaries},
                    {"run_dir", host.run_dir},
                    {"options", host.options},
                    {"patience_ns", host.patience_ns}}},
                  {"program", program.program},
                  {"config", program.config},
                  {"settings", program.settings},
                  {"detached", program.detached},
                  {"venue", program.part.venue},
                  {"shard", program.part.shard}};
  replace_file(record_path(run_dir, program.name), {control::text_of(json, 1)});
}

void forget_remote(const std::string& run_dir, const std::string& name) noexcept {
  std::error_code none;
  fs::remove(record_path(run_dir, name), none);
}

bool is_remote(const std::string& run_dir, const std::string& name) {
  std::error_code none;
  return fs::exists(record_path(run_dir, name), none);
}

RemoteProgram read_remote(const std::string& run_dir, const std::string& name) {
  const std::string path = record_path(run_dir, name);
  std::ifstream file(path);
  if (!file) throw SystemError("cannot read '" + path + "'", errno);
  try {
    const Json json = Json::parse(file);
    const Json& host = json.at("host");
    RemoteProgram program;
    program.host.name = host.at("name");
    program.host.destination = host.at("destination");
    program.host.folder = host.at("folder");
    program.host.binaries = host.at("binaries");
    program.host.run_dir = host.at("run_dir");
    program.host.options = host.at("options").get<std::vector<std::string>>();
    program.host.patience_ns = host.at("patience_ns");
    program.name = name;
    program.program = json.at("program");
    program.config = json.at("config");
    program.settings = json.at("settings").get<std::vector<std::string>>();
    program.detached = json.at("detached");
    program.part = {program.program, json.value("venue", 0), json.value("shard", "")};
    return program;
  } catch (const Json::exception& error) {
    throw Error("'" + path + "' is not what tickpath wrote: " + error.what());
  }
}

void require_here(const std::string& run_dir, const std::string& name, const std::string& what,
                  const std::string& command) {
  if (!is_remote(run_dir, name)) return;
  const Host host = read_remote(run_dir, name).host;
  throw Error("'" + name + "' runs on " + host.name + ", where " + what + " is: " + ssh_text(host) +
              " " + host.there(host.binaries) + "/tickpath " + command + " --run-dir " +
              host.there(host.run_dir));
}

std::vector<std::string> remote_names(const std::string& run_dir) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run_dir, none))
    if (entry.path().extension() == kRecord) names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tickpath::cli
