#include "tools/lockstep/state.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/write_all.hpp"
#include "common/control/run_directory.hpp"
#include "common/log/log.hpp"
#include "mdh/datapath.hpp"

namespace tickpath::lockstep {
namespace {

namespace fs = std::filesystem;

// Says whose directory it is.
constexpr const char* kMarker = "lockstep.run";

// Under its lock the directory is emptied and used: of two runs one would remove what the other
// writes.
net::FileDescriptor lock_marker(const std::string& run_dir) {
  const std::string path = run_dir + "/" + kMarker;
  net::FileDescriptor marker(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (marker.get() < 0) throw SystemError("cannot write '" + path + "'", errno);
  if (::flock(marker.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error("another deterministic replay runs in '" + run_dir +
                "': wait for its end, or choose another --run-dir");
  constexpr std::string_view kText = "tickpath replay --deterministic empties this directory\n";
  if (::ftruncate(marker.get(), 0) != 0 || !write_all(marker.get(), kText))
    throw SystemError("cannot write '" + path + "'", errno);
  return marker;
}

// The levels that an image has no room for.
void add_deeper_levels(const book::LevelBookSet& books, Digest& digest) {
  for (std::uint32_t locate = 0; locate < book::kLocatesMax; ++locate)
    for (const Side side : {Side::kBuy, Side::kSell}) {
      const auto at = static_cast<book::Locate>(locate);
      for (std::uint32_t rank = wire::kImageLevels; rank < books.depth(at, side); ++rank) {
        const book::LevelView level = books.level(at, side, rank);
        digest.add_value(std::uint64_t{locate} << 32 | level.price);
        digest.add_value(std::uint64_t{level.shares});
      }
    }
}

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
  add_deeper_levels(mdh->feed().books(), digest);
}

void add_files(const std::string& run_dir, const std::string& name, Digest& digest) {
  for (const char* ending : {".routes", ".exceptions", ".kills"}) {
    const std::string path = run_dir + "/" + name + ending;
    if (!fs::exists(path)) continue;
    digest.add(ending);
    digest.add_value(digest_of_file(path));
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

net::FileDescriptor prepare_run_dir(const std::string& run_dir) {
  ::umask(077);  // every order is in these files
  const fs::path directory(run_dir);
  if (fs::exists(directory) && !fs::is_empty(directory) && !fs::exists(directory / kMarker))
    throw Error(run_dir +
                " is not empty and not of an earlier deterministic replay: choose another "
                "--run-dir, or remove it");
  control::make_run_directory(run_dir);
  net::FileDescriptor marker = lock_marker(run_dir);
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().filename() != kMarker) fs::remove_all(entry.path());
  log::Options options;
  options.name = "lockstep";
  options.path = run_dir + "/lockstep.log";
  log::open(options);
  // What is written to a session that has ended is an error, no signal.
  std::signal(SIGPIPE, SIG_IGN);
  return marker;
}

}  // namespace tickpath::lockstep
