// A prefetch that the compiler keeps.
#pragma once

namespace tickpath::book::detail {

// Brings the line of any address, valid or not, towards the L1 cache. Assembly, because gcc 12
// takes a function that only calls __builtin_prefetch for one without effect and removes its calls.
[[gnu::always_inline]] inline void prefetch_line(const void* address) noexcept {
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
}

}  // namespace tickpath::book::detail
