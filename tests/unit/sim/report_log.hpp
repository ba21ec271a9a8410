// Takes every report of a matching core, so that a test can look at them.
#pragma once

#include <ostream>
#include <vector>

#include "common/wire/names.hpp"
#include "sim/matching/types.hpp"

namespace tickpath::sim {

// Two strategies of one session.
inline constexpr Party kAlice{0, 1};
inline constexpr Party kBob{0, 2};

// What two cores must agree on: everything but the ids that an exchange makes up itself.
struct LoggedReport {
  ReportKind kind{};
  std::uint64_t order_id = 0;
  std::uint64_t target_order_id = 0;
  std::uint32_t last_shares = 0;
  std::uint32_t last_price = 0;
  std::uint32_t leaves_shares = 0;
  std::uint32_t cumulative_shares = 0;
  Reason reason = Reason::kNone;
  FillSource source = FillSource::kNone;
  friend bool operator==(const LoggedReport&, const LoggedReport&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const LoggedReport& r) {
  return out << "{kind " << int(r.kind) << " order " << r.order_id << " target "
             << r.target_order_id << " last " << r.last_shares << "@" << r.last_price << " leaves "
             << r.leaves_shares << " cumulative " << r.cumulative_shares << " reason "
             << describe(r.reason) << " source " << name(r.source) << "}";
}

class ReportLog final : public ReportSink {
 public:
  void on_report(const Report& r) noexcept override {
    all.push_back(r);
    brief.push_back({r.kind, r.order_id, r.target_order_id, r.last_shares, r.last_price,
                     r.leaves_shares, r.cumulative_shares, r.reason, r.source});
  }
  std::vector<Report> all;
  std::vector<LoggedReport> brief;
};

}  // namespace tickpath::sim
