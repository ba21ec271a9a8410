// Where a pair of oegs keeps the word that says which of them leads (common/wire/leadership.hpp).
//
// risk offers the memory and lets oeg in; what is in it the pair decides by COMPARE_SWAP. A small
// file keeps the word over a restart, within a tick of each change. So a pair that has led is never
// taken for a new one, and a leader of long ago finds out. Control thread, all of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/log_budget.hpp"
#include "common/control/admission.hpp"
#include "common/control/counters.hpp"
#include "common/link/connection.hpp"
#include "common/rdma/rdma.hpp"
#include "common/wire/witness.hpp"

namespace tickpath::risk {

class Witness {
 public:
  // Listens at `endpoint`, with the word of the file if there is one. Throws Error (of the file),
  // rdma::SetupError.
  Witness(rdma::Device& device, const std::string& endpoint, std::string name, std::string file);
  ~Witness();

  // Readable when serve() has something to do.
  int file_descriptor() const noexcept { return listener_->file_descriptor(); }
  std::string endpoint() const { return listener_->endpoint(); }
  void serve();
  // Each tick.
  void collect() {
    peers_.collect();
    save();
  }
  // Whoever asks from now on is sent away.
  void close() noexcept { closing_ = true; }

  wire::Leadership leadership() const noexcept;
  std::uint64_t incarnation() const noexcept { return block_->incarnation; }
  std::size_t peers() const noexcept { return peers_.size(); }
  void register_counters(control::Counters& counters) const;

 private:
  struct Saved {
    std::uint64_t word = 0;
    std::uint64_t pair = 0;
    bool operator==(const Saved&) const = default;
  };

  static Saved read(const std::string& path);
  void accept(rdma::ConnectionRequest& request);
  void refuse_other_pair(rdma::ConnectionRequest& request, const std::string& who);
  void save() noexcept;

  std::string name_;
  const std::string file_;
  Saved saved_;               // in the file
  std::uint64_t pair_;        // OegConfig::pair_id() of who asked first; 0: nobody
  bool save_failed_ = false;  // the last time; that is logged once
  std::unique_ptr<rdma::MemoryRegion> region_;  // outlives the connections
  wire::WitnessBlock* block_;
  std::unique_ptr<rdma::Listener> listener_;
  control::Admission admission_{wire::Role::kRisk};
  link::TableReaders peers_;
  LogBudget budget_{10, std::chrono::seconds(60)};
  bool closing_ = false;
};

}  // namespace tickpath::risk
