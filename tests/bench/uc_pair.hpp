// One end of a queue pair of either kind, UC or RC, made by hand with plain verbs: the fabric has
// RC only (docs/VERBS.md says why). The other end is a process that is reached by a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

namespace tickpath::bench {

// A message of the ring of updates: its sequence number is the last word.
struct UcSlot {
  std::uint64_t payload[7];
  std::uint64_t sequence;
};
static_assert(sizeof(UcSlot) == 64);

// What one end tells the other.
struct UcInfo {
  std::uint32_t qp_number = 0;
  std::uint32_t lid = 0;
  std::uint8_t gid[16] = {};
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t made = 0;  // 0: this device has no such queue pairs
};
static_assert(sizeof(UcInfo) == 40);

struct UcDelete {
  void operator()(ibv_context* each) const { ::ibv_close_device(each); }
  void operator()(ibv_pd* each) const { ::ibv_dealloc_pd(each); }
  void operator()(ibv_cq* each) const { ::ibv_destroy_cq(each); }
  void operator()(ibv_mr* each) const { ::ibv_dereg_mr(each); }
  void operator()(ibv_qp* each) const { ::ibv_destroy_qp(each); }
};
template <class T>
using UcOwned = std::unique_ptr<T, UcDelete>;

// Throws Error: what failed, and errno's text.
void uc_require(bool good, const std::string& what);

// The device's name; empty for the first. Throws Error; nullptr: there is none.
UcOwned<ibv_context> uc_open(const std::string& device);

// A port of a device: of several it is the one that has the address.
struct UcPort {
  ibv_context* context = nullptr;
  std::uint8_t number = 1;
};
// "--device-port 2". Throws Error for a number that no port has.
std::uint8_t uc_port_number(int argc, char** argv);

// How a queue pair of a port reaches another one.
struct UcPath {
  ibv_qp_type type = IBV_QPT_RC;
  UcInfo peer;
  std::uint8_t timeout =
      10;  // of RC, ibv_modify_qp(3): 4.096 us * 2^timeout until a packet is sent again
  unsigned access = IBV_ACCESS_REMOTE_WRITE;  // what the peer may do
  std::uint8_t retries = 7;                   // of RC; as the verbs provider (rdma::VerbsOptions)
};
// To INIT, RTR and RTS. Throws Error.
void uc_connect(const UcPort& port, ibv_qp* pair, const UcPath& path);
// Number, lid and GID of the port: RoCE v2 with an IPv4 address, else the first. Throws Error.
UcInfo uc_address(const UcPort& port, const ibv_qp* pair);

class UcPair {
 public:
  static constexpr std::size_t kSlots = 1024;
  static constexpr std::uint32_t kDepth = 128;       // requests under way
  static constexpr std::uint32_t kSignalEvery = 32;  // as the rings do
  static constexpr std::uint64_t kCreditAt =
      kSlots;  // the slot behind the ring: what the reader has seen

  UcPair(const UcPort& port, ibv_qp_type type, std::uint8_t timeout);
  UcInfo info() const;
  void connect(const UcInfo& peer);  // throws Error

  // Writes `slot` into the peer's slot `index`. Waits for room. Throws Error where a request
  // failed.
  void write(const UcSlot& slot, std::size_t index);
  void look() { poll(false); }  // throws Error where a request failed
  // What the peer wrote, acquire: nothing behind it is read before.
  std::uint64_t sequence(std::size_t index) const {
    return __atomic_load_n(&memory_[index].sequence, __ATOMIC_ACQUIRE);
  }
  bool inlined() const { return inline_bytes_ >= sizeof(UcSlot); }
  std::string error() const { return error_; }  // why there is no queue pair

 private:
  void poll(bool until_room);

  UcPort port_;
  ibv_qp_type type_;
  std::uint8_t timeout_;
  std::uint32_t inline_bytes_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  UcInfo peer_;
  std::string error_;
  std::vector<UcSlot> storage_;
  UcSlot* memory_ = nullptr;
  std::vector<UcSlot> sources_;
  UcOwned<ibv_pd> domain_;
  UcOwned<ibv_cq> queue_;
  UcOwned<ibv_mr> region_, source_region_;
  UcOwned<ibv_qp> pair_;
};

}  // namespace tickpath::bench
