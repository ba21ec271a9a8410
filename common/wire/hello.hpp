// What two programs say to each other at connection set-up, before any region is granted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "common/wire/constants.hpp"

namespace tickpath::wire {

enum class Role : std::uint8_t {
  kMdh = 1,
  kStrategy = 2,
  kOeg = 3,
  kRisk = 4,
  kSim = 5,
  kTool = 6
};

// What a connection is for; the listener grants regions by service and role.
enum class Service : std::uint8_t {
  kBookUpdates = 1,   // subscriber -> mdh: ring, images, directory; parameters[0]: Shard::word()
  kOrders = 2,        // strategy -> oeg: order channel; parameters[0]: likewise
  kDropCopy = 3,      // risk -> oeg: event ring, control block, positions
  kRemoteTables = 4,  // tool -> mdh, oeg: read-only tables
  // oeg -> risk: the word that says who of a pair leads; parameters[0]: OegConfig::pair_id()
  kWitness = 5,
  // oeg -> oeg: the log of a pair; parameters[0]: OegConfig::pair_id(), [1]: the newest word
  // that the oeg renounces (Succession::renounced())
  kStandby = 6,
  kSnapshot = 7,    // oeg -> oeg: what a standby begins with; likewise
  kPrices = 8,      // anyone -> mdh: the price store, read-only
  kHome = 9,        // anyone -> mdh that keeps the book home: to READ it
  kHomeWrite = 10,  // mdh -> the same: to write a venue's books; parameters[0] is the venue
  kValues = 11,  // strategy, tool -> mdh that keeps them: shared values; parameters[0] 1: to write
};

// 0 magic | 4 wire_version | 8 role | 9 service | 10 instance | 11 flags | 12 process_id
// 16 name[16] | 32 parameters[4]
struct Hello {
  static constexpr std::uint32_t kMagic = 0x68746b74;  // "tkth" as bytes in memory
  std::uint32_t magic = kMagic;
  std::uint32_t wire_version = kWireVersion;
  Role role;
  Service service;
  std::uint8_t instance;  // strategy: its strategy id
  std::uint8_t flags;
  std::uint32_t process_id;
  char name[16];                // NUL-padded
  std::uint64_t parameters[4];  // of the service (ring depth and mode, ...), documented there
};
static_assert(std::is_trivially_copyable_v<Hello>);
static_assert(sizeof(Hello) == 64 && offsetof(Hello, parameters) == 32);

// This process's hello; a longer name is cut to 15 bytes. Control threads.
Hello make_hello(Role role, Service service, std::string_view name, std::uint8_t instance = 0);
std::string name_of(const Hello& hello);

}  // namespace tickpath::wire
