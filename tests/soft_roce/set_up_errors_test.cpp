// What stops a person at the first start of the verbs provider, made to happen: each must end in an
// error of its own cause that says what to do. As root, in a guest: it takes rights away from child
// processes and from the device's files, and the link down.
#include <array>
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/rdma/rdma.hpp"
#include "tests/support/process.hpp"

namespace tickpath::rdma {
namespace {

using ::testing::HasSubstr;
using tickpath::test_support::Finished;

struct Outcome {
  int cause = -1;  // a SetupCause; -1: it worked
  std::string text;
};

Outcome outcome_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const SetupError& error) {
    return {static_cast<int>(error.cause()), error.what()};
  }
  return {-1, "it worked"};
}

// In a process of its own, which may spoil its rights first.
Outcome in_child(const std::function<void()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw Error("pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    Outcome outcome;
    try {
      outcome = outcome_of(work);
    } catch (const std::exception& error) {
      outcome = {100, error.what()};
    }
    const ssize_t written = ::write(ends[1], outcome.text.data(), outcome.text.size());
    ::_exit(written < 0 ? 101 : outcome.cause + 1);
  }
  ::close(ends[1]);
  Outcome outcome;
  std::array<char, 512> some;
  for (ssize_t got = 0; (got = ::read(ends[0], some.data(), some.size())) > 0;)
    outcome.text.append(some.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.cause = WIFEXITED(status) ? WEXITSTATUS(status) - 1 : 102;
  return outcome;
}

// Root without the right to lock more than its limit: as any user.
void obey_the_memory_limit(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> rights{};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      ::syscall(SYS_capget, &header, rights.data()) != 0)
    throw Error("setrlimit, capget");
  constexpr auto kLock = 1u << CAP_IPC_LOCK;
  rights[0].effective &= ~kLock;
  rights[0].permitted &= ~kLock;
  if (::syscall(SYS_capset, &header, rights.data()) != 0) throw Error("capset");
}

void become_nobody() {
  constexpr uid_t kNobody = 65'534;
  if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
      ::setresuid(kNobody, kNobody, kNobody) != 0)
    throw Error("setresuid");
}

// Files under /dev/infiniband that only root may open, while this lives.
class ForRootOnly {
 public:
  explicit ForRootOnly(const std::string& prefix) {
    for (const auto& entry : std::filesystem::directory_iterator("/dev/infiniband")) {
      struct stat status {};
      if (!entry.path().filename().string().starts_with(prefix)) continue;
      if (::stat(entry.path().c_str(), &status) != 0 || ::chmod(entry.path().c_str(), 0600) != 0)
        throw Error("chmod " + entry.path().string());
      modes_.emplace_back(entry.path().string(), status.st_mode & 07777);
    }
  }
  ~ForRootOnly() {
    for (const auto& [path, mode] : modes_) ::chmod(path.c_str(), mode);
  }
  ForRootOnly(const ForRootOnly&) = delete;
  ForRootOnly& operator=(const ForRootOnly&) = delete;
  bool empty() const { return modes_.empty(); }

 private:
  std::vector<std::pair<std::string, mode_t>> modes_;
};

struct VerbsSetUp : ::testing::Test {
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const Outcome usable = in_child([] { open(); });  // no device, no threads in this process
    if (usable.cause == static_cast<int>(SetupCause::kNoDevice)) GTEST_SKIP() << usable.text;
    ASSERT_EQ(usable.cause, -1) << usable.text;
  }
  static std::unique_ptr<Device> open() { return open_device("verbs", ""); }
  static void expect(const Outcome& outcome, SetupCause cause,
                     const std::vector<std::string>& words) {
    EXPECT_EQ(outcome.cause, static_cast<int>(cause)) << outcome.text;
    for (const std::string& word : words) EXPECT_THAT(outcome.text, HasSubstr(word));
  }
};

TEST_F(VerbsSetUp, TooLittleLockableMemoryIsToldWithTheLimitAndHowToRaiseIt) {
  const auto allocate = [](std::size_t bytes) {
    obey_the_memory_limit(64 << 10);
    (void)open()->allocate(bytes, kLocalWrite, "the ring of orders");
  };
  expect(in_child([&] { allocate(1 << 20); }), SetupCause::kMemoryLock,
         {"1048576 bytes of the ring of orders", "may lock 64 KiB", "ulimit -l unlimited",
          "LimitMEMLOCK="});
  EXPECT_EQ(in_child([&] { allocate(4096); }).cause, -1) << "within the limit";
}

TEST_F(VerbsSetUp, ADeviceThatThisUserMayNotOpenIsToldWithTheFileThatForbidsIt) {
  const auto as_nobody = [] {
    become_nobody();
    (void)open();
  };
  EXPECT_EQ(in_child(as_nobody).cause, -1) << "where everybody may";
  {
    const ForRootOnly device("uverbs");
    ASSERT_FALSE(device.empty());
    expect(in_child(as_nobody), SetupCause::kPermission,
           {"not permitted", "read and write on /dev/infiniband/uverbs"});
  }
  const ForRootOnly connections("rdma_cm");
  ASSERT_FALSE(connections.empty());
  expect(in_child(as_nobody), SetupCause::kPermission,
         {"read and write on /dev/infiniband/rdma_cm"});
}

TEST_F(VerbsSetUp, APortThatIsDownIsToldWithItsNumberAndTheDeviceWorksOnceItIsUpAgain) {
  if (std::getenv("TICKPATH_RPING_ADDRESS") != nullptr) GTEST_SKIP() << "the cable is in use";
  Outcome usable = in_child([] { throw SetupError(SetupCause::kSystem, open()->info().name); });
  const std::string file = "/sys/class/infiniband/" + usable.text + "/ports/1/gid_attrs/ndevs/0";
  std::string interface = tickpath::test_support::read_file(file);
  interface.erase(interface.find_last_not_of('\n') + 1);
  const auto set = [&](const char* state) {
    const Finished ip = tickpath::test_support::run({"/sbin/ip", "link", "set", interface, state});
    EXPECT_EQ(ip.exit_code, 0) << interface << ": " << ip.output;
  };
  // The device learns of its link a little later.
  const auto wait_for = [&](bool working) {
    for (int i = 0; i < 100; ++i) {
      usable = in_child([] { (void)open(); });
      if ((usable.cause == -1) == working) return;
      ::usleep(100'000);
    }
  };
  set("down");
  wait_for(false);
  set("up");
  expect(usable, SetupCause::kNoDevice, {"port 1 is down", "`ip link set up`"});
  wait_for(true);
  EXPECT_EQ(usable.cause, -1) << usable.text;
}

}  // namespace
}  // namespace tickpath::rdma
