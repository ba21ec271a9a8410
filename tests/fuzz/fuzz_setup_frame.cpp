// Whatever a stranger sends before it has proven anything: frames come out as they were sent
// however the bytes were cut, nothing above the limit is kept, and a greeting that parses says the
// same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "common/net/setup_frame.hpp"

namespace {

using namespace tickpath::net;

constexpr std::uint32_t kLimit = 256;

struct Seen {
  std::vector<std::vector<std::byte>> frames;
  bool bad = false;
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen read_in_steps(std::span<const std::byte> bytes, std::size_t step) {
  Seen seen;
  FrameDecoder decoder(kLimit);
  while (!bytes.empty() && !seen.bad) {
    const std::size_t count = std::min(step, bytes.size());
    decoder.append(bytes.first(count));
    bytes = bytes.subspan(count);
    for (; decoder.status() == FrameDecoder::Status::kFrame; decoder.pop()) {
      if (decoder.frame().empty() || decoder.frame().size() > kLimit) std::abort();
      seen.frames.emplace_back(decoder.frame().begin(), decoder.frame().end());
    }
    seen.bad = decoder.status() == FrameDecoder::Status::kBad;
    // One frame at most, and what came behind it in the same step.
    if (!seen.bad && decoder.buffered_bytes() > kFrameHeaderBytes + kLimit + step) std::abort();
  }
  return seen;
}

void check_greeting(std::span<const std::byte> payload) {
  std::string why;
  const auto greeting = parse_greeting(payload, why);
  if (!greeting) {
    if (why.empty()) std::abort();
    return;
  }
  const auto again = parse_greeting(greeting->encode(), why);
  if (!again || again->kind != greeting->kind || again->mode != greeting->mode ||
      again->role != greeting->role || again->text != greeting->text)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto all = std::as_bytes(std::span(data, size));
  const std::size_t step = std::size_t{data[0]} % 61 + 1;
  const auto stream = all.subspan(1);
  const Seen whole = read_in_steps(stream, stream.size() + 1);
  const Seen cut = read_in_steps(stream, step);
  // Cut or whole, what comes before a bad frame is the same.
  if (whole != cut) std::abort();
  for (const auto& frame : whole.frames) check_greeting(frame);
  check_greeting(stream);
  return 0;
}
