// Which RDMA device: by name or by an address of its interface. Without either, the first working
// port that has an address; where none has one, the first working port.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

struct ContextClose {
  void operator()(ibv_context* context) const noexcept { ::ibv_close_device(context); }
};

struct ChosenDevice {
  std::unique_ptr<ibv_context, ContextClose> context;
  std::string name;
  std::uint8_t port = 0;
  std::uint8_t ports = 0;  // that it has
  ibv_port_attr port_attributes{};
  // RoCE: from the GID table; others: their interface's. Family 0: it has none of its own.
  sockaddr_storage address{};
  std::string gid;  // "GID 1 ::ffff:10.77.0.1, RoCE v2", "ib0 10.0.0.1"
  std::uint32_t gid_index = 0;
  std::uint16_t pkey_index = 0;  // of the address's interface (InfiniBand)
  ibv_gid raw_gid{};
};

// choice: DeviceOptions::device. Throws SetupError (kNoDevice, kPermission) that says what to do.
ChosenDevice choose_device(const std::string& choice);

// Why connections of ours cannot be made on a device of this transport; empty where they can.
std::string why_unusable(ibv_transport_type transport);

// The file is there, and this process may not read and write it.
bool is_forbidden(const std::string& file);

// "10.77.0.1", "fe80::1"; "" if it is no IP address.
std::string address_text(const sockaddr_storage& address);
// A numeric address, family 0 if it is none.
sockaddr_storage parse_ip(const std::string& text);
// Into 16 bytes, IPv4 mapped; and back.
void to_bytes(const sockaddr_storage& address, std::uint8_t* bytes);
sockaddr_storage from_bytes(const std::uint8_t* bytes);

}  // namespace tickpath::rdma::detail
