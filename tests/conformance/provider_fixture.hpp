// The parametrised suite: every test runs once for each provider, with the peer in a process of its
// own that does what the test tells it.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "tests/conformance/endpoint.hpp"

namespace tickpath::rdma::conformance {

// What DeviceInfo says that not every device has.
enum class Capability { kAtomics, kLastWordLast, kDatagrams, kTellsRefused, kSolicits };
bool has_capability(const DeviceInfo& info, Capability capability);
std::string name_of(Capability capability);
// What a test did not try for want of a capability: told to the list at the end of the run.
void note_missing(const std::string& test, Capability capability);

struct Provider {
  const char* name;
  // A fresh one that a listener can bind: in this process, or in a peer's.
  std::string (*new_address)();
  std::string (*new_peer_address)();
  // Empty if there is a device here; else why there is none.
  std::string (*missing)();
  // The counts of the long tests are divided by this: in an emulated machine a request takes
  // hundreds of times as long.
  std::uint64_t work_divisor;
};
void PrintTo(const Provider& provider, std::ostream* out);

// The peer_main.cpp process. Commands are lines; every command is answered by one line. It runs on
// this machine, or where TICKPATH_PEER_RUNNER ("host:port", tests/soft_roce/guest/peer_runner.py)
// starts it; TICKPATH_PEER_ADDRESS is that machine's RDMA address then.
class PeerProcess {
 public:
  explicit PeerProcess(const std::string& provider);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  // Without waiting; answer() later gives the reply. One command may be under way at a time.
  void tell(const std::string& command);
  // What follows "ok"; the whole line (and a test failure) otherwise.
  std::string answer(int timeout_ms = 30'000);
  std::string ask(const std::string& command) {
    tell(command);
    return answer();
  }
  // Answer expected to begin with "error": the text after it.
  std::string ask_error(const std::string& command);
  void signal(int number);            // SIGKILL, SIGSTOP, SIGCONT
  pid_t pid() const { return pid_; }  // on its machine

 private:
  void start_here(const std::string& provider);
  void start_there(const std::string& provider);
  std::string read_line(int timeout_ms);

  pid_t pid_ = -1;
  std::string remote_name_;  // at the runner; empty: a child of this process
  int to_peer_ = -1;
  int from_peer_ = -1;
  std::string buffered_;
};

class Fabric : public testing::TestWithParam<Provider> {
 protected:
  void SetUp() override;  // skips, with the reason, where the provider has no device
  void TearDown() override;

  Endpoint& mine() { return *mine_; }
  PeerProcess& peer() { return *peer_; }
  std::uint64_t work(std::uint64_t count) const { return count / GetParam().work_divisor; }
  // Connects `mine` to the peer's listener; the peer accepts with these options ("key=value ...").
  QueuePair& connect(const EndpointOptions& options = {}, const std::string& peer_options = "");
  // The other way round: `peer` connects to the listener of `mine` at `address`.
  void let_connect(PeerProcess& peer, const std::string& address);

  // Does the provider's device say that it has this (DeviceInfo)? If not, that is kept for the list
  // at the end of the run (lists.cpp): of what a test leaves out, or of the whole test where it
  // skips itself.
  bool has(Capability capability);

  // Posts on the current queue pair; a test failure if refused.
  void post(const WorkRequest& request);
  // Exactly one completion, waited for. Times are those of a fast machine (scaled_ms()).
  Completion one(int timeout_ms = 5000);
  void expect_done(std::uint64_t wr_id, CompletionStatus status = CompletionStatus::kSuccess);
  // A failure that verbs devices may know no more of than that it is one (kGeneral).
  void expect_failed(std::uint64_t wr_id, CompletionStatus status);
  bool vague(CompletionStatus status) const;
  // Waits until the queue pair is in error; false after five scaled seconds.
  bool becomes_error();
  void fill_pattern(std::size_t offset, std::size_t length, unsigned seed);
  // write_test.cpp
  void write_ring(std::uint64_t slots, std::uint64_t count, std::uint32_t bytes);
  std::string peer_sum(const std::string& region, std::size_t offset, std::size_t length);

  std::string address_;     // where the peer may listen
  std::string my_address_;  // where this process may

 private:
  std::unique_ptr<Endpoint> mine_;
  std::unique_ptr<PeerProcess> peer_;
};

}  // namespace tickpath::rdma::conformance
