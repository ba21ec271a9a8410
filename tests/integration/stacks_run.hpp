// A pipeline with two mdh's and oegs, of two venues or of two shards of one: what befalls one of
// them stops nothing at the other.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {

class StacksRun : public ::testing::Test {
 protected:
  explicit StacksRun(const std::string& config) : folder(config) {}

  std::uint64_t received(const std::string& oeg) const {
    return folder.counter(oeg, "orders", "received");
  }
  // Waits for another process than `process`, which it was.
  void await_restart(const std::string& name, pid_t process) const {
    ASSERT_TRUE(wait_until(
        [&] {
          const pid_t now = folder.program_id(name);
          return now > 0 && now != process;
        },
        std::chrono::minutes(1)))
        << name << " is not started again";
  }
  // Kills it, and sees orders at the other oeg while it is away and at its own when it is back.
  void kill_and_await(const std::string& victim, const std::string& own, const std::string& other) {
    const pid_t process = folder.program_id(victim);
    ASSERT_GT(process, 0) << victim;
    ASSERT_EQ(::kill(process, SIGKILL), 0);
    const std::uint64_t before = received(other);
    EXPECT_TRUE(wait_until([&] { return received(other) > before; }, std::chrono::minutes(1)))
        << other << " has no more orders since " << victim << " is gone";
    await_restart(victim, process);
    const std::uint64_t at_restart = received(own);
    EXPECT_TRUE(wait_until([&] { return received(own) > at_restart; }, std::chrono::minutes(1)))
        << own << " has no orders since " << victim << " is back";
  }

  const PipelineFolder folder;
};

}  // namespace tickpath::test_support
