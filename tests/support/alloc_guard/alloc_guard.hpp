// Ends the program, with a backtrace, at the first allocation or release on a thread that polls
// (DatapathScope); preloaded, also at the first system call (syscall_guard.hpp). Two ways in:
//   - linked into a test: tickpath_test_alloc_guard;
//   - LD_PRELOAD=build/release/tests/liballoc_guard.so before any tickpath program, and before
//     `tickpath up`, whose programs inherit it. (operator new and delete end in malloc and free.)
//
// TICKPATH_ALLOC_GUARD=report   tells, counts and goes on instead of aborting
// TICKPATH_ALLOC_GUARD_FILE=F   each process appends "pid program allocations session violations
//                               watched" at its end: proof that the guard was there
// Not under sanitizers, which bring their own allocator.
#pragma once

#include <cstdint>

namespace tickpath::test_support {

struct AllocationCounts {
  std::uint64_t all;         // calls by any thread
  std::uint64_t session;     // on a datapath thread, inside a SessionScope
  std::uint64_t violations;  // on a datapath thread that polls
};

// Any thread. Linked in only.
AllocationCounts allocation_counts() noexcept;
void alloc_guard_report_only(bool on) noexcept;

}  // namespace tickpath::test_support
