// Against real recordings: captured packets, ITCH files and a LOBSTER file.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include "common/feeds/itch/moldudp64.hpp"
#include "common/feeds/recordings/lobster.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using test::Bytes;

// The UDP payloads of a capture: Ethernet (with up to two VLAN tags) or raw IP, IPv4, UDP.
std::vector<Bytes> udp_payloads(const std::filesystem::path& path) {
  char error[PCAP_ERRBUF_SIZE];
  pcap_t* file = pcap_open_offline(path.c_str(), error);
  if (file == nullptr) {
    ADD_FAILURE() << path << ": " << error;
    return {};
  }
  std::size_t link_bytes = pcap_datalink(file) == DLT_EN10MB ? 14 : 0;
  EXPECT_TRUE(link_bytes > 0 || pcap_datalink(file) == DLT_RAW)
      << path << " has another link layer";
  std::vector<Bytes> payloads;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  while (pcap_next_ex(file, &header, &data) == 1) {
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    std::size_t ip = link_bytes;
    for (; ip > 0 && data[ip - 2] == 0x81 && data[ip - 1] == 0x00; ip += 4) {
    }
    const std::size_t udp = ip + (data[ip] & 0x0fU) * 4;
    if (data[ip] >> 4 != 4 || data[ip + 9] != IPPROTO_UDP) continue;
    const std::size_t length = static_cast<std::size_t>(data[udp + 4]) << 8 | data[udp + 5];
    EXPECT_LE(udp + length, header->caplen) << path;
    payloads.emplace_back(bytes + udp + 8, bytes + udp + length);
  }
  pcap_close(file);
  return payloads;
}

// Packet and messages are decoded and written again; both must come out byte for byte.
std::size_t check_packet(const std::string& file, const Bytes& packet, std::set<char>& types) {
  mold::PacketCursor cursor(packet);
  Bytes again(packet.size());
  mold::PacketBuilder builder(again);
  builder.begin(cursor.header().session, cursor.header().sequence_number);
  std::size_t count = 0;
  for (std::span<const std::byte> message; cursor.next(message); ++count) {
    DecodeStatus status;
    const Bytes encoded = test::decoded_and_encoded(message, status);
    EXPECT_EQ(status, DecodeStatus::kOk) << file << ": " << test::to_hex(message);
    EXPECT_EQ(test::to_hex(encoded), test::to_hex(message)) << file;
    types.insert(message_type(message.data()));
    EXPECT_TRUE(builder.append(encoded));
  }
  EXPECT_EQ(cursor.status(), mold::PacketStatus::kOk) << file;
  const std::span<const std::byte> built =
      cursor.header().is_end_of_session() ? builder.finish_session() : builder.finish();
  EXPECT_EQ(test::to_hex(built), test::to_hex(packet)) << file;
  return count;
}

TEST(CapturedPackets, DecodeAndEncodeByteForByte) {
  const auto folder = test::data_folder() / "itch_packets";
  TICKPATH_NEED_DATA(folder);
  std::set<char> types;
  std::size_t files = 0;
  std::size_t most_messages = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".pcap") continue;
    // OUCH is the order entry protocol, over TCP: not what this decoder reads.
    if (entry.path().string().find("Ouch") != std::string::npos) continue;
    const std::string file = entry.path().string();
    const std::vector<Bytes> packets = udp_payloads(entry.path());
    EXPECT_FALSE(packets.empty()) << file;
    std::size_t messages = 0;
    for (const Bytes& packet : packets) {
      const std::size_t count = check_packet(file, packet, types);
      most_messages = std::max(most_messages, count);
      messages += count;
    }
    EXPECT_GT(messages, 0U) << file;
    ++files;
  }
  EXPECT_EQ(files, 49U);
  EXPECT_EQ(most_messages, 38U);
  EXPECT_EQ(std::string(types.begin(), types.end()), "ACDEFHIJLNPQSUXY");
}

// Counts by type; and that every reference resolves and no time goes back.
struct Facts {
  std::map<char, std::uint64_t> counts;
  std::uint64_t total = 0;
  std::uint64_t unresolved = 0;
  std::uint64_t reversals = 0;
  std::uint64_t bad = 0;
};

class FactFinder {
 public:
  explicit FactFinder(Facts& facts) : facts_(facts) {}
  void operator()(const AddOrder& m) noexcept { open_[m.order_reference_number] = m.shares; }
  void operator()(const AddOrderMpid& m) noexcept { open_[m.order_reference_number] = m.shares; }
  void operator()(const OrderExecuted& m) noexcept {
    reduce(m.order_reference_number, m.executed_shares);
  }
  void operator()(const OrderExecutedWithPrice& m) noexcept {
    reduce(m.order_reference_number, m.executed_shares);
  }
  void operator()(const OrderCancel& m) noexcept {
    reduce(m.order_reference_number, m.cancelled_shares);
  }
  void operator()(const OrderDelete& m) noexcept {
    if (open_.erase(m.order_reference_number) == 0) ++facts_.unresolved;
  }
  void operator()(const OrderReplace& m) noexcept {
    if (open_.erase(m.original_order_reference_number) == 0) ++facts_.unresolved;
    open_[m.new_order_reference_number] = m.shares;
  }
  void operator()(const auto&) noexcept {}

 private:
  void reduce(std::uint64_t reference, std::uint32_t shares) noexcept {
    const auto order = open_.find(reference);
    if (order == open_.end() || order->second < shares) {
      ++facts_.unresolved;
    } else if ((order->second -= shares) == 0) {
      open_.erase(order);
    }
  }
  Facts& facts_;
  std::map<std::uint64_t, std::uint32_t> open_;
};

Facts facts_of(RecordingReader& reader) {
  Facts facts;
  FactFinder finder(facts);
  std::uint64_t last = 0;
  RecordedMessage message;
  while (reader.next(message) == ReadStatus::kMessage) {
    ++facts.total;
    ++facts.counts[message_type(message.bytes.data())];
    if (message.timestamp_ns < last) ++facts.reversals;
    last = message.timestamp_ns;
    if (decode(message.bytes, finder) != DecodeStatus::kOk) ++facts.bad;
    DecodeStatus status;
    const Bytes again = test::decoded_and_encoded(message.bytes, status);
    if (!std::ranges::equal(again, message.bytes)) ++facts.bad;
  }
  EXPECT_EQ(reader.damage(), "");
  return facts;
}

TEST(RecordedItch, HasTheKnownCountsOfAaplBeforeTheOpen) {
  const auto path = test::data_folder() / "itch/20200130_AAPL_10k.itch50";
  TICKPATH_NEED_DATA(path);
  const auto reader = open_recording(path);
  const Facts facts = facts_of(*reader);
  const std::map<char, std::uint64_t> expected{{'A', 4759}, {'D', 4083}, {'E', 849}, {'P', 240},
                                               {'L', 52},   {'U', 7},    {'X', 6},   {'F', 2},
                                               {'R', 1},    {'H', 1},    {'Y', 1}};
  EXPECT_EQ(facts.counts, expected);
  EXPECT_EQ(facts.total, 10'001U);
  EXPECT_EQ(facts.bad, 0U);
  EXPECT_EQ(facts.unresolved, 0U);
  EXPECT_EQ(facts.reversals, 0U);
}

TEST(RecordedItch, StartsADayWithItsDirectory) {
  const auto path = test::data_folder() / "itch/20191230_first1000.itch50";
  TICKPATH_NEED_DATA(path);
  const auto reader = open_recording(path);
  const Facts facts = facts_of(*reader);
  EXPECT_EQ(facts.total, 1000U);
  EXPECT_EQ(facts.counts.at('S'), 1U);
  EXPECT_EQ(facts.counts.at('R'), 993U);
  EXPECT_EQ(facts.counts.at('H') + facts.counts.at('Y'), 6U);
  EXPECT_EQ(facts.bad, 0U);
}

TEST(RecordedLobster, HasTheKnownCountsAndResolvesEveryReference) {
  const auto path = test::data_folder() / "lobster/AAPL_2012-06-21_message_50.csv.gz";
  TICKPATH_NEED_DATA(path);
  const auto reader = open_recording(path);
  const Facts facts = facts_of(*reader);
  const LobsterCounts& counts = dynamic_cast<const LobsterReader&>(*reader).counts();
  EXPECT_EQ(counts.lines, 91'997U);
  EXPECT_EQ(counts.earlier_orders, 80U);  // named by the 84 events
  EXPECT_EQ(counts.dropped_events, 0U);
  EXPECT_EQ(counts.clamped_executions, 0U);
  EXPECT_EQ(counts.repeated_submissions, 0U);
  EXPECT_EQ(counts.time_reversals, 0U);
  const std::map<char, std::uint64_t> expected{{'A', 44'256 + 80}, {'X', 469},  {'D', 41'004},
                                               {'E', 4067},        {'P', 2201}, {'S', 6},
                                               {'R', 1},           {'H', 1},    {'Y', 1}};
  EXPECT_EQ(facts.counts, expected);
  EXPECT_EQ(facts.unresolved, 0U);
  EXPECT_EQ(facts.reversals, 0U);
  EXPECT_EQ(facts.bad, 0U);
}

}  // namespace
}  // namespace tickpath::itch
