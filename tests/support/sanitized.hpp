// Whether this build is a sanitizer's: everything is several to twenty times as slow.
#pragma once

namespace tickpath::test_support {

#ifndef __has_feature
#define __has_feature(name) 0  // clang's word; gcc defines macros
#endif

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || \
    __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TICKPATH_SANITIZED 1
#else
#define TICKPATH_SANITIZED 0
#endif
inline constexpr bool kSanitized = TICKPATH_SANITIZED != 0;

// UndefinedBehaviorSanitizer looks at objects through a pipe of its own: where a test leaves no
// descriptor free it takes sound ones for broken.
inline constexpr const char* kNeedsDescriptors = "the sanitizer itself needs descriptors";

// Seeds of a random test of one thread: the release build finds what many seeds find, a sanitizer
// sees the same code in a few.
constexpr int seeds(int in_release, int sanitized = 2) noexcept {
  return kSanitized ? sanitized : in_release;
}

}  // namespace tickpath::test_support
