// At the end of a run: which tests ran on which provider, and what was left out because a
// provider's device says that it cannot do it. Where several providers ran, the lists must be
// equal, or a promise is kept on one of them only; a test may be missing for no other reason than a
// capability that the device lacks.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {
namespace {

using Lists = std::map<std::string, std::set<std::string>>;  // provider -> tests

// "KeepsOrder/shm" -> what was not tried.
std::map<std::string, std::set<std::string>>& missing() {
  static std::map<std::string, std::set<std::string>> all;
  return all;
}

// The tests that did not run at all.
std::set<std::string>& left_out() {
  static std::set<std::string> all;
  return all;
}

Lists tests_that_ran() {
  Lists lists;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& info = *suite.GetTestInfo(j);
      const std::string name = info.name();  // "KeepsOrder/shm"
      const std::size_t slash = name.rfind('/');
      if (slash == std::string::npos || !info.should_run()) continue;
      // One that left itself out for want of a capability counts: it is told of below.
      if (info.result()->Skipped() && missing().count(name) == 0) continue;
      if (info.result()->Skipped()) left_out().insert(name);
      lists[name.substr(slash + 1)].insert(name.substr(0, slash));
    }
  }
  return lists;
}

class ComparesLists : public testing::Environment {
 public:
  void TearDown() override {
    const Lists lists = tests_that_ran();
    for (const auto& [provider, tests] : lists) {
      std::printf("conformance on %s: %zu tests\n", provider.c_str(), tests.size());
    }
    for (const auto& [test, capabilities] : missing()) {
      const char* const what = left_out().count(test) != 0 ? "left out" : "left out in part";
      for (const std::string& capability : capabilities)
        std::printf("  %s: %s, the device lacks: %s\n", test.c_str(), what, capability.c_str());
    }
    if (lists.size() < 2) return;
    const std::set<std::string>& first = lists.begin()->second;
    for (const std::string& test : first) std::printf("  %s\n", test.c_str());
    const bool equal = std::all_of(lists.begin(), lists.end(),
                                   [&](const auto& each) { return each.second == first; });
    EXPECT_TRUE(equal) << "the providers ran different tests";
    if (equal) std::printf("the lists of all %zu providers are equal\n", lists.size());
  }
};

[[maybe_unused]] const testing::Environment* const kCompares =
    testing::AddGlobalTestEnvironment(new ComparesLists);

}  // namespace

void note_missing(const std::string& test, Capability capability) {
  missing()[test].insert(name_of(capability));
}

}  // namespace tickpath::rdma::conformance
