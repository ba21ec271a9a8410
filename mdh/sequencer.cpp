#include "mdh/sequencer.hpp"

namespace tickpath::mdh {

Verdict Sequencer::accept(const itch::mold::PacketHeader& header) noexcept {
  Verdict verdict;
  const std::uint64_t first = header.sequence_number;
  const std::uint16_t count = header.messages();
  if (!plausible(header)) [[unlikely]] {
    verdict.kind = Verdict::Kind::kMalformed;
    return verdict;
  }
  if (!has_session_ || header.session != session_) [[unlikely]] {
    verdict.new_session = true;
    has_session_ = true;
    session_ = header.session;
    expected_ = 1;
  }
  if (first > expected_) [[unlikely]] {
    verdict.missed_from = expected_;
    verdict.missed = first - expected_;
    expected_ = first;
  }
  if (header.is_end_of_session()) {
    verdict.kind = Verdict::Kind::kEndOfSession;
    return verdict;
  }
  if (count == 0) return verdict;  // a heartbeat
  const std::uint64_t seen = expected_ - first;
  if (seen >= count) {
    verdict.kind = Verdict::Kind::kDuplicate;
    return verdict;
  }
  verdict.kind = Verdict::Kind::kDeliver;
  verdict.skip = static_cast<std::uint16_t>(seen);
  expected_ = first + count;
  return verdict;
}

}  // namespace tickpath::mdh
