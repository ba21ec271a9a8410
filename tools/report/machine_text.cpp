#include "tools/report/machine_text.hpp"

#include <fstream>
#include <set>

#include <sys/utsname.h>
#include <unistd.h>

namespace tickpath::report {
namespace {

// proc(5), /proc/cpuinfo.
std::string processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (const auto colon = line.find(": ");
        line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return "processor unknown";
}

std::string this_host(const utsname& host) {
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  return processor() + ", " + std::to_string(processors) +
         (processors == 1 ? " processor, " : " processors, ") + host.sysname + " " + host.release;
}

}  // namespace

std::vector<std::string> machine_texts(const trace::Analysis& analysis) {
  utsname host{};
  if (::uname(&host) != 0) return {};
  std::set<std::string> names;
  for (const trace::Host& each : analysis.hosts) names.insert(each.name);
  if (names.empty()) return {std::string("page made on ") + host.nodename + ": " + this_host(host)};
  std::vector<std::string> texts;
  for (const std::string& name : names)
    texts.push_back(name == host.nodename ? name + ": " + this_host(host) : name);
  return texts;
}

}  // namespace tickpath::report
