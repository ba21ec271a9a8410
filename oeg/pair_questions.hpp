// What one of a pair asks the other one and the witnesses, before its datapath runs or while that
// waits for a word. Control thread; each waits for the answer, some seconds at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/rdma/rdma.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/witness.hpp"
#include "oeg/config.hpp"
#include "oeg/founding.hpp"

namespace tickpath::oeg {

class PairQuestions {
 public:
  // remembers: this oeg does. At place 2 one that does not says so to each witness that it asks.
  PairQuestions(const OegConfig& config, rdma::Device& device, const std::string& name,
                bool remembers);
  void remembers() noexcept { says_newcomer_ = false; }

  // What this oeg says of itself.
  wire::Hello hello(wire::Service service) const;
  std::vector<std::string> witness_endpoints() const;
  // Where they are, for people.
  std::string witnesses() const;

  // The text of the answer, pair_answers.hpp; empty: the other one does not answer.
  std::string who_leads();
  // What that witness holds. Throws Error: it does not answer.
  wire::WitnessBlock witness(const std::string& endpoint);
  // The latest word of the witnesses that answer soon. of_all: nothing unless all answer. Where two
  // hold the same word of a pair, each of the pair might ask another one: its incarnation is 0.
  // silent: the endpoint of one that has not answered.
  std::optional<wire::WitnessBlock> newest_word(bool of_all, std::string* silent = nullptr);
  KnownOfPair ask_all();

 private:
  wire::WitnessBlock witness(const std::string& endpoint, std::uint32_t wait_ms);

  const OegConfig& config_;
  rdma::Device& device_;
  const std::string name_;
  bool says_newcomer_;
};

}  // namespace tickpath::oeg
