// A process without a free file descriptor.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tickpath::test_support {

// While it lives, no more than `spare` descriptors can be opened.
class NoDescriptors {
 public:
  explicit NoDescriptors(unsigned spare = 0) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &former_), 0);
    const int lowest_free = ::dup(0);
    ::close(lowest_free);
    const rlimit left{static_cast<rlim_t>(lowest_free) + spare, former_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &left), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &former_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit former_{};
};

}  // namespace tickpath::test_support
