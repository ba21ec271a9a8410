// A venue as one account sees it: FIX's numbers without its bytes. It takes one session, each
// number once, each order once; it reports in order, and again from any number that is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/wire/order_messages.hpp"
#include "tests/fault/simulation/random.hpp"

namespace tickpath::simulation {

struct Message {
  enum class Kind : std::uint8_t { kLogon, kOrder, kGapFill };
  Kind kind = Kind::kLogon;
  std::uint32_t seq = 0;
  std::uint64_t order = 0;        // kOrder
  std::uint32_t next_target = 0;  // kLogon: the report that is to come next
};

// One report may say two things: an execution is taken back, and another one stands instead.
struct Fact {
  wire::ReportKind kind;
  std::uint64_t execution;
  std::uint32_t shares;
  std::uint32_t price;
  std::uint32_t leaves;
  std::uint32_t cumulative;
};
struct Report {
  std::uint64_t order;
  std::vector<Fact> facts;
};

// A connection. What was written into it arrives, also after its writer's end.
struct Line {
  struct ToVenue {
    std::uint64_t at_ns;
    Message message;
  };
  struct ToOeg {
    enum class Kind : std::uint8_t { kLoggedOn, kReport, kEnd };
    Kind kind;
    std::uint64_t at_ns;
    std::uint32_t number;       // kReport
    std::uint32_t resend_from;  // kLoggedOn; 0: nothing is missing
    std::uint32_t resend_to;
  };
  std::vector<ToVenue> to_venue;
  std::vector<ToOeg> to_oeg;
  bool ended = false;    // by the venue
  bool dropped = false;  // by oeg, or its end
};

class Venue {
 public:
  static constexpr std::uint32_t kShares = 100;  // of each order, bought
  struct Order {
    std::uint32_t leaves = kShares;
    std::uint32_t cumulative = 0;
  };
  struct Execution {
    std::uint64_t id;
    std::uint64_t order;
    std::uint32_t shares;
    std::uint32_t price;
    bool stands = true;
  };

  explicit Venue(Random& random) : random_(random) {}

  std::shared_ptr<Line> connect();
  void send(Line& line, const Message& message, std::uint64_t now_ns);
  // Takes what has arrived, and reports.
  void turn(std::uint64_t now_ns, bool trades);

  const Report& report(std::uint32_t number) const { return reports_[number - 1]; }
  const std::unordered_map<std::uint64_t, Order>& orders() const noexcept { return orders_; }
  std::uint64_t taken() const noexcept { return orders_.size(); }
  std::int64_t position() const noexcept { return position_; }
  std::int64_t cash() const noexcept { return cash_; }
  std::uint32_t reports() const noexcept { return static_cast<std::uint32_t>(reports_.size()); }
  // Empty: nothing was wrong so far.
  const std::string& problem() const noexcept { return problem_; }
  bool idle() const noexcept;

 private:
  void take(const std::shared_ptr<Line>& line, const Message& message, std::uint64_t now_ns);
  void log_on(const std::shared_ptr<Line>& line, const Message& message, std::uint64_t now_ns);
  void count();
  void accept(std::uint64_t order, std::uint64_t now_ns);
  void trade(std::uint64_t now_ns);
  void correct(std::uint64_t now_ns);
  void tell(std::uint64_t now_ns, std::uint64_t order, std::vector<Fact> facts);
  std::uint64_t arrival(std::uint64_t now_ns) { return now_ns + random_.below(300'000); }

  Random& random_;
  std::vector<std::shared_ptr<Line>> lines_;
  std::shared_ptr<Line> session_;
  std::uint32_t expected_ = 1;
  std::uint32_t logon_at_ = 0;  // a Logon's number behind a gap
  std::unordered_map<std::uint64_t, Order> orders_;
  std::vector<std::uint64_t> open_;
  std::vector<Execution> executions_;
  std::vector<Report> reports_;
  std::vector<Message> behind_gap_;
  std::int64_t position_ = 0;
  std::int64_t cash_ = 0;
  std::string problem_;
};

}  // namespace tickpath::simulation
