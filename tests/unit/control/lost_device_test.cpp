// A program whose RDMA device is taken away from under it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/control/command_line.hpp"
#include "tests/support/child.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/wrapped_device.hpp"
#include "tests/unit/control/small_program.hpp"

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
  const test_support::Folder scratch;
  test_support::write_file(scratch / "idle.toml", kSmallConfig);
  test_support::Child child(
      [&] {
        return run_small<IdleConfig, IdleApplication>(
            {"idle", scratch / "idle.toml", "--run-dir", scratch / "run", "--set",
             with_device ? "with_device=true" : "with_device=false"},
            idle_schema(), [](const rdma::DeviceOptions& options) -> std::unique_ptr<rdma::Device> {
              return std::make_unique<LosableDevice>(rdma::open_device(options));
            });
      },
      scratch / "out");
  const int status = child.wait();
  said = test_support::read_file(scratch / "out");
  return status;
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
