#include "oeg/pair_questions.hpp"

#include <cstring>
#include <string_view>

#include "common/base/error.hpp"
#include "common/link/connection.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/refusals.hpp"
#include "oeg/pair_reads.hpp"

namespace tickpath::oeg {
namespace {

// A set-up with certificates may take seconds where hosts are busy.
constexpr std::uint32_t kAnswerMs = 3000;
// A leader that begins again does not wait long for a witness that is gone.
constexpr std::uint32_t kAskMs = 500;

}  // namespace

PairQuestions::PairQuestions(const OegConfig& config, rdma::Device& device, const std::string& name,
                             bool remembers)
    : config_(config),
      device_(device),
      name_(name),
      says_newcomer_(config.pair.place == 2 && !remembers) {}

wire::Hello PairQuestions::hello(wire::Service service) const {
  wire::Hello hello = wire::make_hello(wire::Role::kOeg, service, name_, config_.pair.place);
  hello.parameters[0] = config_.pair_id();
  return hello;
}

std::string PairQuestions::who_leads() {
  wire::Hello own = hello(wire::Service::kStandby);
  own.flags = wire::kAsksWhoLeads;
  try {
    (void)link::connect_tables(device_, config_.pair.peer, link::bytes_of(own), {}, kAnswerMs,
                               std::string(wire::name(wire::Role::kOeg)));
  } catch (const rdma::SetupError& error) {
    const std::string_view answer = error.what();
    for (const std::string_view known :
         {wire::kLeadsInEpoch, wire::kDoesNotLead, wire::kWaitsForWord})
      if (const std::size_t at = answer.find(known); at != std::string_view::npos)
        return std::string(answer.substr(at));
  }
  return {};
}

std::vector<std::string> PairQuestions::witness_endpoints() const {
  if (config_.pair.witness_standby.empty()) return {config_.pair.witness};
  return {config_.pair.witness, config_.pair.witness_standby};
}

wire::WitnessBlock PairQuestions::witness(const std::string& endpoint) {
  return witness(endpoint, kAnswerMs);
}

wire::WitnessBlock PairQuestions::witness(const std::string& endpoint, std::uint32_t wait_ms) {
  const wire::Hello own = hello(wire::Service::kWitness);
  const link::TableConnection there =
      link::connect_tables(device_, endpoint, link::bytes_of(own), {}, wait_ms,
                           std::string(wire::name(wire::Role::kRisk)));
  const auto extras = there.connection->extras();
  if (extras.empty()) throw Error("the witness has granted nothing");
  const std::string bytes =
      read_all(device_, *there.connection, extras[0], sizeof(wire::WitnessBlock));
  wire::WitnessBlock block;
  std::memcpy(&block, bytes.data(), sizeof(block));
  if (says_newcomer_ && block.newcomer == 0) say_newcomer(device_, *there.connection, extras[0]);
  return block;
}

std::optional<wire::WitnessBlock> PairQuestions::newest_word(bool of_all, std::string* silent) {
  std::optional<wire::WitnessBlock> newest;
  bool all = true, equal = false;
  for (const std::string& endpoint : witness_endpoints()) {
    try {
      const wire::WitnessBlock block = witness(endpoint, of_all ? kAnswerMs : kAskMs);
      equal = newest && block.word == newest->word && !wire::Leadership::of_word(block.word).alone;
      if (!newest || block.word > newest->word) newest = block;
    } catch (const Error&) {
      all = false;
      if (silent != nullptr) *silent = endpoint;
    }
  }
  if (of_all && !all) return std::nullopt;
  if (equal) newest->incarnation = 0;
  return newest;
}

std::string PairQuestions::witnesses() const {
  return config_.pair.witness_standby.empty()
             ? config_.pair.witness
             : config_.pair.witness + " or " + config_.pair.witness_standby;
}

KnownOfPair PairQuestions::ask_all() {
  KnownOfPair known{.place = config_.pair.place, .peer = who_leads()};
  if (const auto block = newest_word(false, &known.silent)) {
    known.witness = true;
    known.word = wire::Leadership::of_word(block->word);
  }
  return known;
}

}  // namespace tickpath::oeg
