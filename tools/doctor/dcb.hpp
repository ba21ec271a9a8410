// Data Center Bridging (IEEE 802.1Qaz) of a network interface: which priorities are paused instead
// of dropped (PFC), and which DSCP gets which priority. Drivers tell it over rtnetlink alone
// (linux/dcbnl.h); what `dcb pfc show` and `dcb app show` print is the same.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tickpath::cli::doctor {

inline constexpr int kPriorities = 8;  // IEEE 802.1Q: three bits

struct Dcb {
  std::bitset<kPriorities> paused;          // PFC is on for these
  std::uint64_t pauses_sent = 0;            // since the driver was loaded, all priorities
  std::uint64_t pauses_received = 0;        // the switch, or the other end, held us up so often
  std::map<int, std::set<int>> priorities;  // by DSCP; empty: the interface does not look at DSCP
};

struct DcbAnswer {
  std::optional<Dcb> dcb;
  std::string why_not;  // where there is none
};

// Asks the kernel; needs no rights. Waits for a second at most.
DcbAnswer ask_dcb(const std::string& interface);

// Its two halves. The request is one netlink message (RTM_GETDCB, DCB_CMD_IEEE_GET).
std::vector<std::byte> dcb_request(const std::string& interface, std::uint32_t sequence);
// Damaged or cut answers give a reason, never more than they hold.
DcbAnswer parse_dcb(std::span<const std::byte> answer, const std::string& interface);

// What `dcb -N -s pfc show dev X; dcb -N app show dev X` prints.
Dcb parse_dcb_text(const std::string& text);

}  // namespace tickpath::cli::doctor
