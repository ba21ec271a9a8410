// How a ring of datagrams gets to its receivers: over a Unix socket (SOCK_SEQPACKET), by the
// monitors of both sides. Whoever knows the other begins.
//
//   unicast: the sender connects to the receiver's socket, whose name follows from its address
//     kOffer layout, start; ring, wake page   ->
//                                             <-   kAttend; what wakes it
//   multicast: the receiver connects to the sender's socket in the group's folder
//                                             <-   kAttend; what wakes it
//     kOffer layout, start; ring, wake page   ->
//
// Then both keep the connection: its end is the end of the other one, also after `kill -9`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/rdma/datagram.hpp"
#include "common/rdma/setup/frame.hpp"
#include "common/rdma/shm/memory.hpp"

namespace tickpath::rdma::detail {

enum class DatagramSetupType : std::uint8_t { kOffer = 1, kAttend };

enum DatagramSetupFlags : std::uint8_t {
  kSleeps = 1u << 0,         // kAttend: a socket to wake it by comes along
  kCannotBarrier = 1u << 1,  // kAttend: it cannot run a barrier on the sender's cores
};

// Both directions, little-endian, 80 bytes.
//   0 magic | 4 version | 6 type | 7 flags | 8 grants (0) | 12 body_bytes (0) | 16 slots |
//   20 datagram_bytes_max | 24 start | 32 source_gid | 48 destination_gid | 64 source_qp_number |
//   68 sleeper | 72 reserved
struct DatagramSetup {
  static constexpr std::uint32_t kMagic = 0x44535054;  // "TPSD" in memory
  static constexpr std::uint16_t kVersion = 1;
  static constexpr DatagramSetupType kLastType = DatagramSetupType::kAttend;
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  DatagramSetupType type = DatagramSetupType::kOffer;
  std::uint8_t flags = 0;  // DatagramSetupFlags
  std::uint32_t grants = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t slots = 0;
  std::uint32_t datagram_bytes_max = 0;
  std::uint64_t start = 0;  // of who has just joined: datagrams before it are not its own
  std::array<std::byte, 16> source_gid{};
  std::array<std::byte, 16> destination_gid{};  // the group's, or the receiver's
  std::uint32_t source_qp_number = 0;
  std::uint32_t sleeper = 0;  // its line of the wake page; kSleepersMax: it has none
  std::uint64_t reserved = 0;
};
static_assert(sizeof(DatagramSetup) == 80 && offsetof(DatagramSetup, source_gid) == 32);

struct DatagramSetupMessage {
  DatagramSetup setup;
  std::vector<UniqueFd> descriptors;
};

void send_datagram_setup(const UniqueFd& socket, const DatagramSetup& setup,
                         std::span<const int> descriptors);
// nullopt: nothing there yet. Throws SetupError: kProtocol, kRefused (end of file).
std::optional<DatagramSetupMessage> receive_datagram_setup(const UniqueFd& socket);

// A listening socket of this name: in the abstract name space, which leaves no files behind. Throws
// SetupError.
UniqueFd listen_abstract(const std::string& name);
// Invalid: nobody listens there. Throws SetupError.
UniqueFd connect_abstract(const std::string& name);

// Takes in who connects to a listening socket, if it is of our user. Where no descriptor is left
// the newcomer is turned away, by one that is kept for that: it would keep the socket readable, and
// the monitor from sleeping.
class Acceptor {
 public:
  Acceptor() = default;
  explicit Acceptor(UniqueFd listening);  // throws SetupError
  bool valid() const noexcept { return listening_.valid(); }
  int descriptor() const noexcept { return listening_.get(); }
  // Invalid: nobody is there.
  UniqueFd next();

 private:
  UniqueFd listening_;
  UniqueFd spare_;
};

// The name of a queue pair's socket: "tickpath.datagrams.fe80...0001.17".
std::string datagram_socket_name(const DatagramAddress& address);

// An epoll descriptor, readable when one of its members is: what several sockets are watched by.
class EventSet {
 public:
  EventSet();  // throws SetupError
  int descriptor() const noexcept { return epoll_.get(); }
  void add(int fd, std::uint64_t id);  // leaves when fd is closed; throws SetupError
  // The ids of those that are readable; at most a few at a time.
  std::vector<std::uint64_t> ready() const;

 private:
  UniqueFd epoll_;
};

// The folder of a multicast group: a socket for each sender, "4711-89abcdef.sender". Sockets are
// bound under another name and renamed once they listen, so that what is there can be connected to;
// those of killed senders are cleared by the next sender.
class GroupFolder {
 public:
  // Makes it where it is missing. Throws SetupError: kAddress, kPermission (another user's).
  explicit GroupFolder(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  // ff15: an address of the multicast range that nobody assigned, made from the folder's identity.
  std::array<std::byte, 16> gid() const noexcept { return gid_; }

  struct Listening {
    UniqueFd socket;
    std::string name;
  };
  Listening add_sender() const;
  void remove_sender(const std::string& name) const noexcept;
  // Names of those that are there, listening or left behind.
  std::vector<std::string> senders() const;
  // Invalid: nobody listens there any more.
  UniqueFd connect(const std::string& name) const;
  // Readable when a sender comes (inotify). Throws SetupError.
  UniqueFd watch() const;
  // Consumes what made it readable: look at senders() then.
  static void take_news(const UniqueFd& watch) noexcept;
  // Somebody removed it: no sender will be found any more. Any thread.
  bool gone() const noexcept;

 private:
  UniqueFd lock_folder() const;
  std::vector<std::string> names_ending(std::string_view first, std::string_view second) const;
  std::string path_of(const std::string& name) const;
  void clear_dead_senders() const;

  std::string path_;
  UniqueFd directory_;
  std::array<std::byte, 16> gid_{};
};

}  // namespace tickpath::rdma::detail
