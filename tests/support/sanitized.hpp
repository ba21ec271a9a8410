// Whether this build is a sanitizer's: everything is several to twenty times as slow.
#pragma once

namespace tickpath::test_support {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Seeds of a random test of one thread: the release build finds what many seeds find, a sanitizer
// sees the same code in a few.
constexpr int seeds(int in_release, int sanitized = 2) noexcept {
  return kSanitized ? sanitized : in_release;
}

}  // namespace tickpath::test_support
