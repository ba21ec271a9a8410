#include "oeg/witness_client.hpp"

#include <utility>

#include "oeg/pair_notes.hpp"
#include "oeg/steps.hpp"

namespace tickpath::oeg {

using Role = Succession::Role;

namespace {

// A leader READs the word again so often: another one that leads since, whatever went wrong, is
// noticed after so long.
constexpr std::uint64_t kLookAgainNs = 250'000'000;

// The witness has answered, and that has settled nothing: it is asked the same so much later.
constexpr std::uint64_t kAskAgainNs = 5'000'000;

}  // namespace

void WitnessClient::take(link::BareConnection& connection, std::uint64_t now_ns) noexcept {
  const auto extras = connection.connection->extras();
  if (!extras.empty()) used_.set(1);
  // After what is said of it: the keeper looks at this first.
  taken_.add();
  if (extras.empty()) return connections_.give_back(&connection);
  if (connection_ != nullptr) connections_.give_back(connection_);
  connection_ = &connection;
  asked_.reset();  // its answer would come by the former connection
  read_ = looks_again_ = false;
  answered_.reset();
  idle_ns_ = now_ns;
  word_.attach(*connection.connection, extras[0]);
}

bool WitnessClient::poll(std::uint64_t now_ns) noexcept {
  if (connection_ == nullptr) return false;
  connection_->connection->poll();
  if (word_.state() == link::RemoteWord::State::kFailed || connection_->connection->failed()) {
    asked_.reset();  // whether it was made is not known; it is asked for again
    drop();
    return false;
  }
  if (word_.state() == link::RemoteWord::State::kIdle) {
    idle_ns_ = now_ns;
    return true;
  }
  // Stopped: over ofi a program that does not run executes nothing.
  if (now_ns - idle_ns_ > PairStatus::kWaitsNs) status_.show_served(false);
  return false;
}

void WitnessClient::drop() noexcept {
  word_.detach();
  looks_again_ = false;
  if (connection_ != nullptr) connections_.give_back(std::exchange(connection_, nullptr));
  show(false);
  status_.show_served(false);
  used_.set(0);
}

// One that is left again at once, because the other one decides, is no news.
void WitnessClient::show(bool there) noexcept {
  read_ = there;
  if (there == is_there()) return;
  there_.set(there ? 1 : 0);
  if (there)
    hot_log_.note(PairNote::kWitnessUp, holds_.epoch, holds_.leader);
  else
    hot_log_.note(PairNote::kWitnessDown);
}

bool WitnessClient::take_word(Succession& rules) noexcept {
  const bool looked = std::exchange(looks_again_, false);
  if (looked) looked_ns_ = look_posted_ns_;
  if (std::exchange(read_, true) && !looked) return false;
  holds_ = wire::Leadership::of_word(word_.value());
  rules.on_word(holds_);
  return true;
}

bool WitnessClient::take_answer(Succession& rules) noexcept {
  if (!asked_) return false;
  const Succession::Change change = *std::exchange(asked_, std::nullopt);
  const auto found = wire::Leadership::of_word(word_.value());
  holds_ = found == change.expected ? change.desired : found;
  rules.on_answer(change, broken(Rule::kEpoch) ? change.expected : found);
  answered_ = change;
  return true;
}

// Also where another life was asked, which is gone.
bool WitnessClient::may_enrol(const Succession& rules) const noexcept {
  const std::optional<Succession::Change> wanted = rules.wanted();
  if (wanted) return wanted->witness != word_.second();
  return rules.witness() != word_.second() || holds_ != rules.word();
}

void WitnessClient::enrol(Succession& rules) noexcept {
  if (!rules.move(word_.second(), holds_) && may_enrol(rules))
    (void)rules.enrol(word_.second(), holds_);
}

void WitnessClient::ask(const Succession& rules, std::uint64_t now_ns) noexcept {
  // Where there are two witnesses the other one may be the one that decides.
  if (two_ && !rules.serves(word_.second())) return drop();
  show(true);
  const std::optional<Succession::Change> wanted = rules.wanted();
  const bool in_vain = wanted && wanted == answered_;
  status_.show_served(rules.serves(word_.second()) && !in_vain);
  const bool due = !in_vain || now_ns - asked_at_ns_ >= kAskAgainNs;
  if (wanted && due && wanted->witness == word_.second() &&
      word_.compare_swap(wanted->expected.word(), wanted->desired.word())) {
    asked_ = wanted;
    asked_at_ns_ = now_ns;
    at(Step::kAsked);
  }
  if (rules.role() != Role::kLeader || now_ns < next_look_ns_ || !word_.read()) return;
  looks_again_ = true;
  look_posted_ns_ = now_ns;
  next_look_ns_ = now_ns + kLookAgainNs;
}

bool WitnessClient::may_answer(const Succession& rules, std::uint64_t since_ns,
                               std::uint64_t now_ns) const noexcept {
  const std::optional<Succession::Change> wanted = rules.wanted();
  if (!wanted || wanted == answered_ || !rules.asks_to_lead_alone()) return false;
  if (now_ns - since_ns > kAnswersNs) return false;
  return !read_ || wanted->witness == word_.second();
}

}  // namespace tickpath::oeg
