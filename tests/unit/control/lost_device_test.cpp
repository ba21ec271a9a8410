// A program whose RDMA device is taken away from under it.
#include <csignal>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/control/command_line.hpp"
#include "common/control/program.hpp"
#include "tests/support/wrapped_device.hpp"
#include "tests/unit/control/scratch.hpp"

namespace tickpath::control {
namespace {

using ::testing::HasSubstr;

constexpr int kWorkingLooks = 5;

// Works for as many looks at lost(), then is gone.
class LosableDevice final : public test_support::WrappedDevice {
 public:
  using WrappedDevice::WrappedDevice;
  std::string lost() const override {
    return ++looks_ <= kWorkingLooks ? "" : "the RDMA device test0 was removed";
  }

 private:
  mutable int looks_ = 0;
};

struct IdleConfig {
  CommonConfig common;
  bool with_device = true;
};

config::Schema<IdleConfig> idle_schema() {
  config::Schema<IdleConfig> schema;
  schema.include("", &IdleConfig::common, common_schema());
  schema.flag("with_device", &IdleConfig::with_device, "use the fabric");
  return schema;
}

// Ends by itself only if nobody looks at its device.
class IdleApplication final : public Application, public Datapath {
 public:
  IdleApplication(const IdleConfig& config, Runtime& runtime) {
    if (config.with_device) region_ = runtime.device().allocate(64, rdma::kLocalWrite, "idle");
  }
  Datapath& datapath() override { return *this; }
  bool turn() noexcept override { return false; }
  void on_tick() override {
    if (++ticks_ == 10 * kWorkingLooks) ::kill(::getpid(), SIGTERM);
  }
  void on_stopped() override { std::puts("its connections to others were ended"); }

 private:
  std::unique_ptr<rdma::MemoryRegion> region_;
  int ticks_ = 0;
};

// In a child; its exit status, and what it said in `said`.
int run_idle(bool with_device, std::string& said) {
  const ScratchDirectory scratch;
  const std::string config = scratch.path() + "/idle.toml", out = scratch.path() + "/out";
  std::ofstream(config) << "[datapath]\nwait = \"yield\"\n[trace]\ncapacity = 1024\n";
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen(out.c_str(), "w", stdout) == nullptr ||
        ::dup2(::fileno(stdout), STDERR_FILENO) < 0)
      std::_Exit(99);
    std::vector<std::string> words{
        "idle",      config,
        "--run-dir", scratch.path() + "/run",
        "--set",     with_device ? "with_device=true" : "with_device=false"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    const int status = run_program<IdleConfig>(
        static_cast<int>(arguments.size()), arguments.data(),
        {.program = "idle",
         .description = "a program for tests",
         .schema = idle_schema(),
         .common = &IdleConfig::common,
         .create = [](const IdleConfig& parsed, Runtime& runtime) -> std::unique_ptr<Application> {
           return std::make_unique<IdleApplication>(parsed, runtime);
         },
         .open_device = [](const rdma::DeviceOptions& options) -> std::unique_ptr<rdma::Device> {
           return std::make_unique<LosableDevice>(rdma::open_device(options));
         }});
    std::fflush(nullptr);
    std::_Exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::stringstream text;
  text << std::ifstream(out).rdbuf();
  said = text.str();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(LostDevice, EndsTheProgramInOrderWithItsOwnExitStatusAndSaysWhy) {
  std::string said;
  EXPECT_EQ(run_idle(true, said), kExitDeviceLost);
  EXPECT_EQ(kExitDeviceLost, 75) << "what service managers and `tickpath up` are told";
  EXPECT_THAT(said, HasSubstr("the RDMA device test0 was removed"));
  EXPECT_THAT(said, HasSubstr("start it again"));
  EXPECT_THAT(said, HasSubstr("its connections to others were ended"));
}

TEST(LostDevice, IsNoConcernOfAProgramThatOpenedNone) {
  std::string said;
  EXPECT_EQ(run_idle(false, said), 0) << said;
}

}  // namespace
}  // namespace tickpath::control
