// The pipeline on what it takes for two hosts, although it is one: oeg and risk see another boot
// id, so the programs measure each other's clocks. The true offset is known: it is nothing.
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <gtest/gtest.h>

#include "common/trace/analysis.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

namespace fs = std::filesystem;

// Runs a command with another boot id, in a mount namespace of its own (unshare(1)).
std::string as_other_host(const std::string& boot_id_file, const std::string& command) {
  return "exec unshare --mount sh -c 'mount --bind " + boot_id_file +
         " /proc/sys/kernel/random/boot_id && exec " + command + " \"$@\"' sh \"$@\"\n";
}

class TwoClocks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (folder_.path().find('\'') != std::string::npos) GTEST_SKIP() << "a quote in the path";
    write_file(folder_ / "boot_id", "0b5e55ed-0000-4000-8000-00c10c000000\n");
    write_script("other_host", as_other_host(folder_ / "boot_id", "cat"));
    const Finished seen = run({folder_ / "bin/other_host", "/proc/sys/kernel/random/boot_id"});
    if (seen.exit_code != 0 || seen.output.find("0b5e55ed") == std::string::npos)
      GTEST_SKIP() << "no right to mount in a namespace of one's own: " << seen.output;
    // `up` starts what lies beside it.
    fs::copy_file(program("tickpath"), folder_ / "bin/tickpath");
    for (const char* name : {"sim", "mdh", "strategy"})
      fs::create_symlink(program(name), folder_ / (std::string("bin/") + name));
    for (const char* name : {"oeg", "risk"})
      write_script(name, as_other_host(folder_ / "boot_id", program(name)));
  }
  void write_script(const std::string& name, const std::string& text) {
    fs::create_directories(folder_ / "bin");
    write_file(folder_ / ("bin/" + name), "#!/bin/sh\n" + text);
    fs::permissions(folder_ / ("bin/" + name), fs::perms::owner_all);
  }
  PipelineFolder folder_;
};

TEST_F(TwoClocks, AreMeasuredByTheProgramsAndTheTruthLiesWithinTheStatedError) {
  std::vector<std::string> command = folder_.up(folder_.generate(40'000, 6));
  command[0] = folder_ / "bin/tickpath";
  const Finished up = run(command, folder_.path(), std::chrono::seconds(120));
  ASSERT_EQ(up.exit_code, 0) << up.output;

  std::vector<trace::TraceFile> files;
  for (const char* name : {"sim", "mdh", "strategy", "oeg"})
    files.emplace_back(folder_.run_dir() + "/" + name + ".trace");
  const trace::HostClocks clocks(files);
  ASSERT_EQ(clocks.hosts().size(), 2u);
  const std::size_t here = clocks.index_of(files[2]);
  const std::size_t there = clocks.index_of(files[3]);
  ASSERT_NE(here, there);
  ASSERT_TRUE(clocks.comparable(here, there)) << "nobody measured the other host";

  // One counter in truth: every stamp of the other host must be placed where it is.
  std::size_t stamps = 0;
  for (const std::size_t file : {std::size_t{2}, std::size_t{3}}) {
    const std::size_t host = clocks.index_of(files[file]);
    for (const trace::Record& record : files[file].records()) {
      const auto hop = static_cast<trace::Hop>(record.key >> 56);
      if (record.key == 0 || hop == trace::Hop::kOrderLink) continue;
      const auto true_ticks = static_cast<double>(record.time);
      const double placed = clocks.to_reference(host, true_ticks);
      const double off_ns = std::abs(placed - true_ticks) / clocks.ticks_per_ns(host);
      ASSERT_LE(off_ns, clocks.error_ns(host, placed) + 2);
      ++stamps;
    }
  }
  EXPECT_GT(stamps, 1'000u);

  const trace::Analysis analysis = trace::analyse(files);
  EXPECT_GE(analysis.orders_complete, 50u);
  bool shown = false;
  for (const trace::Interval& hop : analysis.hops) {
    if (hop.from != trace::Hop::kStrategyPosted || hop.to != trace::Hop::kOegSeen) continue;
    shown = true;
    EXPECT_EQ(hop.crossing, hop.distribution.count);
    EXPECT_GT(hop.distribution.count, 50u);
    EXPECT_EQ(hop.unmeasured, 0u);
    EXPECT_GT(hop.error_ns, 0);
    std::printf("%s: p50 %lld ns +- %lld ns\n", hop.name.c_str(),
                static_cast<long long>(hop.distribution.p50), static_cast<long long>(hop.error_ns));
  }
  EXPECT_TRUE(shown);
}

}  // namespace
}  // namespace tickpath::test_support
