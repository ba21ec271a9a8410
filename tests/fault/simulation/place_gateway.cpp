// The gateway of a place, and its session with the venue.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "common/wire/order_id.hpp"
#include "tests/fault/simulation/place.hpp"

namespace tickpath::simulation {
namespace {

using oeg::Pair;

constexpr std::uint8_t kStrategy = 1;
constexpr std::uint32_t kInstrument = 1;
constexpr std::uint64_t kReconnectNs = 50'000'000;
// The bytes of a FIX message.
constexpr std::size_t kMessageBytes = 200;

}  // namespace

// ---------------------------------------------------------------------------------------- store

void Store::put(std::uint32_t seq, std::uint64_t order) {
  if (orders.size() <= seq) orders.resize(seq + 1);
  orders[seq] = order;
}

bool Store::adopt_message(std::uint32_t seq, std::string_view message,
                          const fix::SessionNumbers& numbers) noexcept {
  std::uint64_t order = 0;
  if (message.size() < sizeof(order)) return false;
  std::memcpy(&order, message.data(), sizeof(order));
  put(seq, order);
  adopt_numbers(numbers);
  return true;
}

void Store::adopt_numbers(const fix::SessionNumbers& numbers) noexcept {
  next_sender = numbers.next_sender;
  next_target = numbers.next_target;
}

void Place::turn() {
  if (!runs() || stopped || process_->pair == nullptr) return;
  process_->heartbeat.beat();
  if (stuck) return;
  Process& process = *process_;
  if (process.pair->turn(around_.now())) {
    process.stage_changed = true;
    if (process.pair->stage() == Pair::Stage::kLeading) process.leading = true;
  }
  if (process.leading && process.pair->stage() == Pair::Stage::kLeading && !left_) turn_gateway();
  if (left_) end();
}

void Place::turn_gateway() {
  if (leads()) begin_to_lead();
  connect_venue();
  take_answers();
  if (!left_) transmit();
}

void Place::begin_to_lead() {
  const std::uint32_t epoch = process_->pair->word().epoch;
  // The other one waits with all that this one ever did.
  constexpr std::uint64_t kToAskNs = 100'000'000;
  const bool meet = is_answered_by_other() && around_.now() - around_.peers_met_ns > kToAskNs;
  const bool beside_whole = !process_->led_alone && process_->other_answered && !other_->old_ &&
                            meet && other_->pair()->status().waits_whole() &&
                            other_->pair()->word().epoch >= led_in_;
  if (old_ && beside_whole && epoch != led_in_ && !around_.books_are_old)
    around_.problem =
        "oeg " + std::to_string(id_) + " leads with a book that is cut, beside one that is whole";
  if (old_) around_.books_are_old = true;  // also in an epoch that it has lost
  if (epoch == led_in_) return;
  // A leader of a pair that slept may not know yet that another one leads: it acts on nothing
  // alone.
  if (process_->pair->word().alone && epoch <= std::max(led_in_, other_->led_in_) &&
      !around_.books_are_old)
    around_.problem = "oeg " + std::to_string(id_) + " leads in epoch " + std::to_string(epoch) +
                      ", which is not new";
  led_in_ = epoch;
}

void Place::recover() {
  const oeg::JournalState& state = process_->journal->state();
  const std::vector<oeg::JournalRecord>& torn = state.entries.unfinished();
  const bool counts_torn = !torn.empty() && !around_.keeps(Habit::kBooksReportsWhole);
  const oeg::JournalRecord last = counts_torn ? torn.back() : state.last;
  if (last.sequence == 0) return;
  if (last.event.event == wire::EventKind::kRequested) {
    if (last.fix_seq == store_.next_sender) reject_unsent(last);
  } else if (last.fix_seq == store_.next_target) {
    ++store_.next_target;
  }
}

void Place::reject_unsent(const oeg::JournalRecord& request) {
  oeg::JournalRecord record = request;
  record.event.event = wire::EventKind::kReported;
  record.event.report_kind = wire::ReportKind::kRejected;
  record.event.target_order_id = request.event.order_id;
  record.event.leaves_shares = 0;
  record.fix_seq = 0;
  if (!process_->pair->log().append(record))
    around_.problem = "no room for what becomes of an order";
}

void Place::connect_venue() {
  Process& process = *process_;
  if (process.line != nullptr && process.line->ended) {
    process.line->dropped = true;
    process.line.reset();
    process.logged_on = false;
    process.stored.clear();  // the store has them, and the venue asks for them
    process.next_connect_ns = around_.now() + kReconnectNs;
  }
  if (process.line != nullptr || !leads() || around_.now() < process.next_connect_ns) return;
  process.line = around_.venue.connect();
  put(Message::Kind::kLogon, 0);
}

void Place::put(Message::Kind kind, std::uint64_t order) {
  const std::uint32_t seq = store_.next_sender++;
  store_.put(seq, order);
  std::array<char, kMessageBytes> text{};
  std::memcpy(text.data(), &order, sizeof(order));
  process_->pair->log().on_stored(seq, {text.data(), text.size()}, store_.numbers());
  process_->stored.push_back({kind, seq, order, 0});
}

void Place::transmit() {
  Process& process = *process_;
  if (process.stored.empty() || process.line == nullptr || !process.pair->log().may_transmit())
    return;
  if (left_) return;
  for (Message& message : process.stored) {
    message.next_target = store_.next_target;
    around_.venue.send(*process.line, message, around_.now());
  }
  process.stored.clear();
  at(oeg::Step::kSent);
}

void Place::take_answers() {
  if (process_->line == nullptr) return;
  std::vector<Line::ToOeg>& answers = process_->line->to_oeg;
  std::size_t done = 0;
  while (done < answers.size() && answers[done].at_ns <= around_.now() && !left_ &&
         take_answer(answers[done]))
    ++done;
  answers.erase(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(done));
}

// False: it has to wait.
bool Place::take_answer(const Line::ToOeg& answer) {
  if (answer.kind == Line::ToOeg::Kind::kReport)
    return process_->pair->log().has_room_for_reports() && book(answer.number);
  process_->logged_on = true;
  if (answer.resend_from != 0) resend(answer.resend_from, answer.resend_to);
  return true;
}

void Place::resend(std::uint32_t from, std::uint32_t to) {
  std::vector<Message> again;
  for (std::uint32_t seq = from; seq < to; ++seq) {
    const std::uint64_t order = seq < store_.orders.size() ? store_.orders[seq] : 0;
    again.push_back({order == 0 ? Message::Kind::kGapFill : Message::Kind::kOrder, seq, order, 0});
  }
  process_->stored.insert(process_->stored.begin(), again.begin(), again.end());
}

bool Place::book(std::uint32_t number) {
  if (number != store_.next_target) return true;
  const Report report = around_.venue.report(number);
  for (std::size_t at = 0; at < report.facts.size(); ++at) {
    const Fact& fact = report.facts[at];
    oeg::JournalRecord record{};
    record.event.order_id = record.event.target_order_id = report.order;
    record.event.instrument_id = kInstrument;
    record.event.shares = fact.shares;
    record.event.price = fact.price;
    record.event.leaves_shares = fact.leaves;
    record.event.cumulative_shares = fact.cumulative;
    record.event.event = wire::EventKind::kReported;
    record.event.report_kind = fact.kind;
    record.event.side = Side::kBuy;
    record.event.strategy_id = kStrategy;
    record.execution_id = fact.execution;
    record.fix_seq = number;
    const bool more = at + 1 < report.facts.size();
    if (more) record.part |= oeg::EntryPart::kMore;
    if (at != 0) record.part |= oeg::EntryPart::kContinues;
    if (!process_->pair->log().append(record)) around_.problem = "no room for a report";
    if (more && around_.random.one_in(2)) (void)process_->pair->log().may_act();
    if (left_) return false;
  }
  ++store_.next_target;
  process_->pair->log().on_numbers(store_.numbers());
  return true;
}

bool Place::order() {
  if (!leads() || stopped || stuck || !process_->logged_on || left_) return false;
  Pair& pair = *process_->pair;
  if (!pair.may_trade() || !pair.log().has_room()) return false;
  oeg::JournalRecord record{};
  record.event.order_id = record.event.trace_id =
      wire::OrderId::make(kStrategy, static_cast<std::uint16_t>(led_in_), ++around_.orders_made);
  record.event.instrument_id = kInstrument;
  record.event.shares = record.order_shares = Venue::kShares;
  record.event.price = record.limit_price = 1'000'000;
  record.event.event = wire::EventKind::kRequested;
  record.event.request_kind = wire::RequestKind::kNew;
  record.event.side = Side::kBuy;
  record.event.strategy_id = kStrategy;
  record.fix_seq = store_.next_sender;
  record.type = trading::OrderType::kLimit;
  record.time_in_force = trading::TimeInForce::kDay;
  std::memcpy(record.symbol, "SIM", 3);
  if (!pair.log().append(record)) {
    around_.problem = "no room for an order that was admitted";
    return false;
  }
  if (!left_) put(Message::Kind::kOrder, record.event.order_id);
  if (!left_) transmit();
  if (left_) end();
  return true;
}

}  // namespace tickpath::simulation
