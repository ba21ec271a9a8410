// A good run, of which one number, text, byte, record or file is altered: `tickpath books` names
// it. And many good runs, of which none is called bad.
//
// Environment: TICKPATH_ALTERATIONS and TICKPATH_GOOD_RUNS say how many, TICKPATH_AUDIT_SEED which.
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/integration/alterations.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::IsEmpty;

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

class Audit : public ::testing::Test {
 protected:
  Audit() : dice_(seed()) {}
  static unsigned seed() { return static_cast<unsigned>(number_of("TICKPATH_AUDIT_SEED", 1)); }

  Finished replay(const std::string& recording, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{
        program("tickpath"), "replay", "--deterministic", folder_.config_dir(),
        "--run-dir",         run_dir_, "--set",           "sim:replay.file=" + recording};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, folder_.path(), kPatience);
  }
  Finished books(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{program("tickpath"), "books", run_dir_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, folder_.path(), kPatience);
  }
  // sim alone once more, by the inputs that the run has kept.
  Finished sim_again(const std::string& recording) const {
    return run({program("tickpath"), "replay", "--deterministic", folder_.config_dir(), "--run-dir",
                folder_ / "again", "--journal", run_dir_ + "/sim.inputs", "--set",
                "sim:replay.file=" + recording},
               folder_.path(), kPatience);
  }
  // A third strategy, which routes.
  void add_routing() const {
    const std::string path = folder_.config_dir() + "/strategy.toml";
    write_file(path, read_file(path) + "\n[[plugin]]\nid = 3\nname = \"routing\"\nfile = \"" +
                         program("../tests/plugins/routing.so") +
                         "\"\n[plugin.parameters]\nafter = \"50ms\"\npause = \"20ms\"\n"
                         "orders_max = 40\nonce_a_symbol = false\n");
  }
  // What does not hold, without what does.
  static std::string told(std::string output) {
    const std::string below = "\n          ";
    for (std::size_t at = 0; (at = output.find(below, at)) != std::string::npos;)
      output.replace(at, below.size(), " ");
    std::istringstream lines(output);
    std::string text;
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with("  ok ")) text += line + "\n";
    return text;
  }
  void expect_named(const Alteration& altered, const std::string& recording) const {
    if (altered.inputs) {
      EXPECT_THAT(sim_again(recording), Ends(1)) << altered.what;
      return;
    }
    const Finished finished = altered.recording ? books({"--recording"}) : books();
    const std::string text = told(finished.output);
    EXPECT_TRUE(altered.note || finished.exit_code == 1) << altered.what << "\n" << text;
    EXPECT_NE(text.find(altered.named), std::string::npos) << altered.what << "\n" << text;
  }

  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(dice_);
  }

  PipelineFolder folder_;
  std::string run_dir_ = folder_ / "audited";
  std::mt19937 dice_;
};

// An alteration that nothing names is printed, and the next one is tried, up to a few.
TEST_F(Audit, NamesWhateverIsAlteredInAGoodRun) {
  add_routing();
  const std::string recording = folder_.generate(10'000, 1);
  ASSERT_THAT(replay(recording), Ends(0));
  EXPECT_THAT(books(), Ends(0, "as its journal has it", "everything is accounted for"));
  EXPECT_THAT(books({"--recording"}), Ends(0, "sim: its recording has the messages that it read"));
  EXPECT_THAT(sim_again(recording), Ends(0));
  Alterations alterations(run_dir_, recording, seed());
  EXPECT_THAT(alterations.unknown_files(), IsEmpty());
  const int count = number_of("TICKPATH_ALTERATIONS", 40);
  constexpr int kToldMax = 20;
  std::map<std::string, int> by_file;
  int told = 0;
  for (int i = 0; i < count && told < kToldMax; ++i) {
    const Alteration altered = alterations.any();
    expect_named(altered, recording);
    alterations.undo();
    ++by_file[altered.what.substr(0, altered.what.find_first_of(":/ "))];
    told = static_cast<int>(
        ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count());
  }
  for (const auto& [file, times] : by_file) RecordProperty(file, times);
  EXPECT_THAT(books(), Ends(0, "everything is accounted for"));
}

// Lossy feeds, fees and corrections of fills among them.
TEST_F(Audit, CallsNoGoodRunBad) {
  const int count = number_of("TICKPATH_GOOD_RUNS", 3);
  const int seed = number_of("TICKPATH_AUDIT_SEED", 1);
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const std::string recording =
        folder_.generate(1000 + below(3000), 0.1 + 0.01 * static_cast<double>(below(20)),
                         static_cast<int>(1 + below(20)), seed * 1000 + i);
    std::vector<std::string> more{"--seed", std::to_string(below(1'000'000))};
    if (below(3) == 0) more.insert(more.end(), {"--set", "sim:feed.a.loss=0.02"});
    if (below(2) == 0)
      more.insert(more.end(),
                  {"--set", "sim:fees.taker=0.0030", "--set", "sim:fees.maker=-0.0020"});
    EXPECT_THAT(replay(recording, more), Ends(0, "everything is accounted for")) << "run " << i;
    EXPECT_THAT(books(), Ends(0, "everything is accounted for")) << "run " << i;
  }
}

}  // namespace
}  // namespace tickpath::test_support
