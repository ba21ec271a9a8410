// A payload by which a reader of shared records sees whether what it read is one version.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tickpath::test_support {

// Every word follows from the first two, so that a mixture of two versions shows.
template <std::size_t kWords>
struct SharedRow {
  std::uint64_t version;
  std::uint64_t writer;
  std::uint64_t rest[kWords - 2];

  static SharedRow of(std::uint64_t version, std::uint64_t writer) {
    SharedRow row{version, writer, {}};
    for (std::size_t i = 0; i < kWords - 2; ++i) row.rest[i] = word(version, writer, i);
    return row;
  }
  bool whole() const {
    for (std::size_t i = 0; i < kWords - 2; ++i)
      if (rest[i] != word(version, writer, i)) return false;
    return true;
  }

 private:
  static std::uint64_t word(std::uint64_t version, std::uint64_t writer, std::size_t index) {
    return (version << 8 | writer) * 0x9e3779b97f4a7c15ull + index;
  }
};

}  // namespace tickpath::test_support
