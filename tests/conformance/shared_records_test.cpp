// Shared records between processes: writers that compete, readers, a writer that is killed.
#include <filesystem>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/folder.hpp"
#include "tests/support/process.hpp"
#include "tests/support/provider.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::conformance {
namespace {

using test_support::Process;

std::string peer() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "shared_records_peer")
      .string();
}

// Processes that write and read one record; those behind `killed` of them are killed in the middle.
// freedoms: TICKPATH_SHM_FREEDOMS of those clients.
void compete(const std::string& lines, std::size_t writers, std::size_t readers, std::size_t killed,
             const std::string& freedoms = "") {
  const test_support::Folder folder;
  const std::string endpoint = test_support::fresh_endpoint();
  Process owner({peer(), "owner", endpoint});
  ASSERT_TRUE(owner.wait_for_output("listening", std::chrono::seconds(20))) << owner.output();
  const std::uint64_t operations = test_support::kSanitized ? 500 : 4'000;
  std::vector<std::unique_ptr<Process>> clients;
  std::vector<std::string> check{peer(), "check"};
  for (std::size_t i = 1; i <= writers + readers; ++i) {
    check.push_back(folder / ("log." + std::to_string(i)));
    // Processes that will be killed have no end of their own.
    const std::uint64_t count = i <= killed ? 100'000'000 : operations;
    const std::string what = i <= writers ? "write" : "read";
    clients.push_back(std::make_unique<Process>(
        std::vector<std::string>{peer(), what, endpoint, std::to_string(i), lines,
                                 std::to_string(count), check.back()},
        "", std::map<std::string, std::string>{{"TICKPATH_SHM_FREEDOMS", freedoms}}));
  }
  for (const auto& client : clients)
    ASSERT_TRUE(client->wait_for_output("connected", std::chrono::seconds(20))) << client->output();
  for (std::size_t i = 0; i < killed; ++i) {
    while (std::filesystem::file_size(check[2 + i]) < 4'000) std::this_thread::yield();
    clients[i]->signal(SIGKILL);
  }
  for (std::size_t i = killed; i < clients.size(); ++i) {
    const test_support::Finished finished = clients[i]->wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
  }
  const test_support::Finished judged = test_support::run(check);
  EXPECT_EQ(judged.exit_code, 0) << judged.output;
  EXPECT_NE(judged.output.find("\nlinearisable\n"), std::string::npos) << judged.output;
}

TEST(SharedRecordsProcesses, AreLinearisableWithOneWriter) { compete("1", 1, 3, 0); }
TEST(SharedRecordsProcesses, AreLinearisableWithManyWriters) { compete("5", 4, 2, 0); }
TEST(SharedRecordsProcesses, AreLinearisableWhileWritersAreKilled) { compete("20", 5, 1, 3); }
TEST(SharedRecordsProcesses, AreLinearisableWithEveryFreedomOfADevice) {
  compete("20", 4, 2, 0, "seed=1,pause=200");
}

}  // namespace
}  // namespace tickpath::conformance
