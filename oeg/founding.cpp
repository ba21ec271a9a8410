#include "oeg/founding.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "common/base/error.hpp"
#include "common/wire/refusals.hpp"

namespace tickpath::oeg {
namespace {

// The thread that looks asks the other oeg, then the witnesses, each for some seconds at most.
constexpr std::chrono::seconds kAnswer{20};

}  // namespace

std::string why_not_found(const KnownOfPair& known, std::uint32_t over) {
  if (known.peer.find(wire::kLeadsInEpoch) != std::string::npos)
    return "the other oeg leads (" + known.peer + "): this one joins it by itself";
  if (!known.peer.empty())
    return "the other oeg runs, and may lead soon (" + known.peer +
           "): wait until it does, or stop it first";
  if (!known.witness)
    return "no witness answers, and nobody leads without its word: start risk first";
  const std::uint32_t epoch = known.word.epoch;
  const auto names_it = [epoch](const char* who) {
    return std::string("make sure that ") + who + " does not run, on any host, then give --over " +
           std::to_string(epoch);
  };
  const bool of_other = known.word.leader != 0 && known.word.leader != known.place;
  if (of_other && over != epoch)
    return "the witness has the word that the other oeg leads, in epoch " + std::to_string(epoch) +
           ": " + names_it("it");
  if (!known.silent.empty() && (epoch == 0 || over != epoch))
    return "the witness at " + known.silent +
           " does not answer, and may know that the other oeg leads: start it first" +
           (epoch == 0 ? std::string() : "; or " + names_it("the other oeg"));
  if (over != 0 && over != epoch)
    return "the witness's word is of epoch " + std::to_string(epoch) + ", not of " +
           std::to_string(over) + ": look again who leads";
  return {};
}

std::uint32_t Founding::ask(std::uint32_t over) {
  std::future<std::uint32_t> answer;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) throw Error("it looks for its pair no more");
    asked_ = Asked{over, {}};
    answer = asked_->answer.get_future();
  }
  if (answer.wait_for(kAnswer) == std::future_status::ready) return answer.get();
  const std::lock_guard lock(mutex_);
  if (!asked_) return answer.get();  // it has come just now
  asked_.reset();
  throw Error("it has not got to the question in time; ask again");
}

std::optional<std::uint32_t> Founding::asked() {
  const std::lock_guard lock(mutex_);
  if (!asked_) return std::nullopt;
  return asked_->over;
}

void Founding::grant(std::uint32_t epoch) {
  const std::lock_guard lock(mutex_);
  if (asked_) asked_->answer.set_value(epoch);
  asked_.reset();
}

void Founding::refuse(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (asked_) asked_->answer.set_exception(std::make_exception_ptr(Error(why)));
  asked_.reset();
}

void Founding::close() {
  refuse("it has found its pair meanwhile");
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace tickpath::oeg
