#include "tools/lockstep/state.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/log/log.hpp"
#include "mdh/datapath.hpp"

namespace tickpath::lockstep {
namespace {

namespace fs = std::filesystem;

// Says whose directory it is.
constexpr const char* kMarker = "lockstep.run";

}  // namespace

std::string sim_journal_path(const std::string& run_dir) { return run_dir + "/sim.inputs"; }

std::string counters_of(const Member& member) {
  return member.runtime->counters().to_json().dump();
}

control::Summary write_summary(Member& member) {
  control::Summary summary;
  summary.program = member.program;
  summary.name = member.name;
  member.application->summarize(summary);
  control::write_file_atomically(member.runtime->run_path(member.name + ".summary.json"),
                                 control::text_of(control::to_json(summary), 2) + "\n");
  return summary;
}

void add_books(const Member& member, Digest& digest) {
  const auto* const mdh = dynamic_cast<const mdh::MdhDatapath*>(&member.datapath());
  if (mdh == nullptr) return;
  for (std::uint32_t id = 0; id < mdh->feed().instruments().size(); ++id) {
    wire::BookImage image{};
    mdh->feed().fill_image(id, image);
    digest.add_value(image);
  }
}

std::uint64_t digest_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError("cannot read " + path, errno);
  Digest digest;
  std::vector<char> block(1 << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0)
    digest.add(std::string_view(block.data(), static_cast<std::size_t>(file.gcount())));
  return digest.value();
}

void prepare_run_dir(const std::string& run_dir) {
  const fs::path directory(run_dir);
  if (fs::exists(directory) && !fs::is_empty(directory)) {
    if (!fs::exists(directory / kMarker))
      throw Error(run_dir +
                  " is not empty and not of an earlier deterministic replay: choose another "
                  "--run-dir, or remove it");
    for (const auto& entry : fs::directory_iterator(directory)) fs::remove_all(entry.path());
  }
  fs::create_directories(directory);
  std::ofstream(directory / kMarker) << "tickpath replay --deterministic empties this directory\n";
  log::Options options;
  options.name = "lockstep";
  options.path = run_dir + "/lockstep.log";
  log::open(options);
  // What is written to a session that has ended is an error, no signal.
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace tickpath::lockstep
