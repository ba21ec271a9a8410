#include "tests/fault/simulation/venue.hpp"

#include <algorithm>

namespace tickpath::simulation {

std::shared_ptr<Line> Venue::connect() {
  std::erase_if(lines_, [this](const std::shared_ptr<Line>& line) {
    return line->to_venue.empty() && line != session_ && (line->ended || line->dropped);
  });
  return lines_.emplace_back(std::make_shared<Line>());
}

void Venue::send(Line& line, const Message& message, std::uint64_t now_ns) {
  const std::uint64_t before = line.to_venue.empty() ? 0 : line.to_venue.back().at_ns;
  line.to_venue.push_back({std::max(before, arrival(now_ns)), message});
}

bool Venue::idle() const noexcept {
  return std::all_of(lines_.begin(), lines_.end(),
                     [](const std::shared_ptr<Line>& line) { return line->to_venue.empty(); });
}

void Venue::turn(std::uint64_t now_ns, bool trades) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const std::shared_ptr<Line> line = lines_[i];
    std::size_t done = 0;
    for (; done < line->to_venue.size() && line->to_venue[done].at_ns <= now_ns; ++done)
      if (!line->ended) take(line, line->to_venue[done].message, now_ns);
    line->to_venue.erase(line->to_venue.begin(),
                         line->to_venue.begin() + static_cast<std::ptrdiff_t>(done));
  }
  if (!trades) return;
  if (!open_.empty() && random_.one_in(2)) trade(now_ns);
  if (!executions_.empty() && random_.one_in(6)) correct(now_ns);
}

void Venue::take(const std::shared_ptr<Line>& line, const Message& message, std::uint64_t now_ns) {
  if (message.kind == Message::Kind::kLogon) return log_on(line, message, now_ns);
  if (session_ != line) return;
  if (message.seq < expected_) return;  // sent again, and here already
  if (message.seq > expected_) {
    behind_gap_.push_back(message);
    return;
  }
  if (message.kind == Message::Kind::kOrder) accept(message.order, now_ns);
  count();
  while (!behind_gap_.empty() && behind_gap_.front().seq <= expected_) {
    const Message next = behind_gap_.front();
    behind_gap_.erase(behind_gap_.begin());
    if (next.seq < expected_) continue;
    if (next.kind == Message::Kind::kOrder) accept(next.order, now_ns);
    count();
  }
}

void Venue::count() {
  ++expected_;
  if (expected_ == logon_at_) ++expected_;
}

void Venue::log_on(const std::shared_ptr<Line>& line, const Message& message,
                   std::uint64_t now_ns) {
  if (message.seq < expected_) {
    if (problem_.empty())
      problem_ = "a Logon's number is " + std::to_string(message.seq) + ", the venue expects " +
                 std::to_string(expected_);
    line->ended = true;
    return;
  }
  if (session_ != nullptr && session_ != line) session_->ended = true;
  session_ = line;
  behind_gap_.clear();
  const bool gap = message.seq > expected_;
  logon_at_ = message.seq;
  line->to_oeg.push_back(
      {Line::ToOeg::Kind::kLoggedOn, arrival(now_ns), 0, gap ? expected_ : 0, message.seq});
  if (!gap) ++expected_;
  for (std::uint32_t number = message.next_target; number <= reports_.size(); ++number)
    line->to_oeg.push_back({Line::ToOeg::Kind::kReport, arrival(now_ns), number, 0, 0});
}

void Venue::accept(std::uint64_t order, std::uint64_t now_ns) {
  if (!orders_.try_emplace(order).second) {
    if (problem_.empty()) problem_ = "order " + std::to_string(order) + " comes twice";
    return;
  }
  open_.push_back(order);
  tell(now_ns, order, {{wire::ReportKind::kAccepted, 0, 0, 0, kShares, 0}});
}

void Venue::trade(std::uint64_t now_ns) {
  const std::size_t at = random_.below(open_.size());
  const std::uint64_t id = open_[at];
  Order& order = orders_[id];
  const auto shares = random_.one_in(2)
                          ? order.leaves
                          : static_cast<std::uint32_t>(1 + random_.below(order.leaves));
  const auto price = static_cast<std::uint32_t>(1'000'000 + random_.below(1000));
  order.leaves -= shares;
  order.cumulative += shares;
  position_ += shares;
  cash_ -= std::int64_t{shares} * price;
  executions_.push_back({executions_.size() + 1, id, shares, price});
  tell(now_ns, id,
       {{wire::ReportKind::kFill, executions_.back().id, shares, price, order.leaves,
         order.cumulative}});
  if (order.leaves == 0) open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
}

void Venue::correct(std::uint64_t now_ns) {
  const Execution old = executions_[random_.below(executions_.size())];
  if (!old.stands) return;
  executions_[old.id - 1].stands = false;
  const auto price = static_cast<std::uint32_t>(1'000'000 + random_.below(1000));
  const Order& order = orders_[old.order];
  cash_ += std::int64_t{old.shares} * old.price - std::int64_t{old.shares} * price;
  executions_.push_back({executions_.size() + 1, old.order, old.shares, price});
  tell(now_ns, old.order,
       {{wire::ReportKind::kFillCanceled, old.id, old.shares, old.price, order.leaves,
         order.cumulative},
        {wire::ReportKind::kFillCorrected, executions_.back().id, old.shares, price, order.leaves,
         order.cumulative}});
}

void Venue::tell(std::uint64_t now_ns, std::uint64_t order, std::vector<Fact> facts) {
  reports_.push_back({order, std::move(facts)});
  if (session_ == nullptr || session_->ended) return;
  session_->to_oeg.push_back({Line::ToOeg::Kind::kReport, arrival(now_ns), reports(), 0, 0});
}

}  // namespace tickpath::simulation
