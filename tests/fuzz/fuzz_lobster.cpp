// A LOBSTER message file of any bytes. What comes out must be ITCH that a book can follow: every
// message decodes, every reference is open, no time goes back.
#include <cstdint>
#include <span>

#include "common/itch/lobster.hpp"
#include "tests/fuzz/itch_auditor.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tickpath;
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  try {
    itch::LobsterReader reader(files::open_memory(bytes, "fuzz"), "TEST");
    itch::audit(reader);
  } catch (const itch::RecordingError&) {
    // The answer to a file without a single event.
  }
  return 0;
}
