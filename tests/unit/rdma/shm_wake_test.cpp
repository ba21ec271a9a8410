// Wake-ups between processes that need not trust each other.
#include <array>
#include <memory>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/rdma/shm/connection.hpp"

namespace tickpath::rdma::detail {
namespace {

bool readable(const Wake& wake) {
  pollfd entry{wake.descriptor(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

// A wake-up that waits would wait for ever: the process ends instead.
class ShmWake : public ::testing::Test {
 protected:
  void SetUp() override { ::alarm(60); }
  void TearDown() override { ::alarm(0); }
  std::shared_ptr<Wake> wake = std::make_shared<Wake>();
};

TEST_F(ShmWake, WakesByAnyPeerAndByItself) {
  UniqueFd first, second;
  const WakeEnd one(wake, first), other(wake, second);
  for (const UniqueFd* const end : {&first, &second}) {
    EXPECT_FALSE(readable(*wake));
    wake_by(*end);
    EXPECT_TRUE(readable(*wake));
    wake->acknowledge();
  }
  wake->signal();
  EXPECT_TRUE(readable(*wake));
  wake->acknowledge();
  EXPECT_FALSE(readable(*wake));
}

TEST_F(ShmWake, AFullPipeOfAHostilePeerHoldsNobodyUp) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_NONBLOCK), 0);
  const UniqueFd reader(pipe[0]), writer(pipe[1]);
  const std::array<char, 4096> bytes{};
  while (::write(writer.get(), bytes.data(), bytes.size()) > 0) {
  }
  ASSERT_EQ(::fcntl(writer.get(), F_SETFL, 0), 0);  // blocking, as whoever shares it may choose
  wake_by(writer);
}

TEST_F(ShmWake, AFullEventCounterOfAHostilePeerHoldsNobodyUp) {
  const UniqueFd event(::eventfd(0, 0));
  const std::uint64_t most = ~std::uint64_t{0} - 1;
  ASSERT_EQ(::write(event.get(), &most, sizeof(most)), static_cast<ssize_t>(sizeof(most)));
  wake_by(event);
}

TEST_F(ShmWake, APeerThatNeverReadsHoldsNobodyUpAndStaysAwake) {
  UniqueFd theirs;
  const WakeEnd end(wake, theirs);
  ASSERT_EQ(::fcntl(theirs.get(), F_SETFL, 0), 0);
  for (int i = 0; i < 100'000; ++i) wake_by(theirs);
  EXPECT_TRUE(readable(*wake));
}

TEST_F(ShmWake, APeerThatShutsItsEndDisturbsNoOther) {
  UniqueFd hostile, honest;
  const WakeEnd one(wake, hostile), other(wake, honest);
  ASSERT_EQ(::shutdown(hostile.get(), SHUT_RDWR), 0);
  wake->acknowledge();
  EXPECT_FALSE(readable(*wake)) << "or the thread would never sleep again";
  wake_by(honest);
  EXPECT_TRUE(readable(*wake));
}

TEST_F(ShmWake, AnEndThatIsGoneIsNotReadFromAgain) {
  UniqueFd theirs;
  {
    const WakeEnd end(wake, theirs);
    wake_by(theirs);
  }
  EXPECT_FALSE(readable(*wake));
  wake_by(theirs);  // nobody is there
  wake->acknowledge();
}

}  // namespace
}  // namespace tickpath::rdma::detail
