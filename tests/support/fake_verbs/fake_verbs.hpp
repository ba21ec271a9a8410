// RDMA adapters that this machine does not have: a test double of libibverbs, librdmacm and the
// list of network interfaces. It answers what set-up asks of a host, and keeps what it was asked
// for; it moves no bytes between queue pairs.
//
// Linked into a test, its functions stand before the libraries' own, and pass every call on until a
// FakeVerbs exists. Preloaded into a program (libfake_verbs.so), it shows the host that
// TICKPATH_FAKE_VERBS names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

namespace tickpath::test_support {

struct FakePort {
  bool ethernet = true;
  bool active = true;
  std::vector<std::string> gids;                // "::ffff:10.0.0.1", by index
  std::vector<std::uint16_t> pkeys = {0xffff};  // by index
};

struct FakeDevice {
  std::string name;
  std::vector<FakePort> ports;
  ibv_transport_type transport = IBV_TRANSPORT_IB;
  bool has_windows = true;    // it says so, and allocates them
  bool binds_windows = true;  // false: the bind fails (IBV_WC_MW_BIND_ERR)
  bool resizes_queues = true;
};

struct FakeInterface {
  std::string name;
  std::vector<std::uint8_t> hardware;   // 6 bytes of Ethernet, 20 of IPoIB
  std::vector<std::uint8_t> broadcast;  // IPoIB: bytes 8 and 9 are the P_Key
  std::vector<std::string> addresses;
};

struct FakeHost {
  std::vector<FakeDevice> devices;
  std::vector<FakeInterface> interfaces;
};

// roce, dual_port (one device), two_devices, infiniband (with IPoIB, and a child interface of P_Key
// 8001), vlan (a RoCE port with a VLAN, and a device beside it), vf (it allocates windows and binds
// none), efa. Throws std::invalid_argument.
FakeHost fake_host(std::string_view kind);

// An IPoIB interface's hardware address: four bytes of queue pair, then the port's GID.
std::vector<std::uint8_t> ipoib_address(const std::string& gid);

// While it exists, these are the host's adapters. One at a time.
class FakeVerbs {
 public:
  explicit FakeVerbs(FakeHost host);
  ~FakeVerbs();
  FakeVerbs(const FakeVerbs&) = delete;
  FakeVerbs& operator=(const FakeVerbs&) = delete;

  // What it was asked for, in order.
  std::vector<ibv_ah_attr> handles() const;          // ibv_create_ah
  std::vector<std::string> bound() const;            // rdma_bind_addr
  std::vector<std::string> resolved() const;         // rdma_resolve_addr: sources; "": no route
  std::vector<std::uint32_t> receive_bytes() const;  // ibv_post_recv
  std::vector<std::uint16_t> pkey_indexes() const;   // of queue pairs that went to INIT
  std::size_t joins() const;                         // rdma_join_multicast, with _ex
  std::size_t memberships() const;                   // joined and not left
  // The newest membership's next event; joins are answered by themselves.
  void tell(rdma_cm_event_type type, int status = 0);
  // Joins fail from now on, or are answered again.
  void refuse_joins(bool refuse);
  // A GID of the first device: removed, and added at another place of its table.
  void move_gid(const std::string& gid);
  // The first device tells its program.
  void tell(const ibv_async_event& event);
  // Its newest completion queue overflows (IBV_EVENT_CQ_ERR).
  void fail_queue();
  // What is posted from now on completes at flush_kept() alone, with that status.
  void keep_completions();
  void flush_kept();
};

}  // namespace tickpath::test_support
