// A Databento DBN file of any bytes: what comes out must be ITCH that a book can follow.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "common/itch/dbn_reader.hpp"
#include "tests/fuzz/itch_auditor.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tickpath;
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  try {
    itch::DbnReader reader(files::open_memory(bytes, "fuzz"));
    itch::audit(reader);
    if (reader.remarks().empty()) std::abort();
  } catch (const itch::RecordingError&) {
    // No metadata, or none of market by order.
  }
  return 0;
}
