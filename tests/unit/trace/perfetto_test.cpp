// The trace for Perfetto, decoded by protoc.
#include "common/trace/perfetto.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/clock/clock.hpp"
#include "common/trace/perfetto_packets.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One packet, as far as the tests look at it.
struct Packet {
  std::optional<std::uint64_t> timestamp;
  std::string type, name;
  std::uint64_t track = 0, pid = 0, tid = 0, parent = 0;
  std::int64_t value = -1;
  std::vector<std::uint64_t> flows;
  std::map<std::string, std::uint64_t> annotations;
};

// The text of `protoc --decode`: "key: value" and "key {" ... "}".
std::vector<Packet> parsed(const std::string& text) {
  std::vector<Packet> packets;
  std::vector<std::string> path;
  std::uint64_t annotation = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line.ends_with("{")) {
      path.push_back(line.substr(0, line.find(' ')));
      if (path.size() == 1) packets.emplace_back();
    } else if (line == "}") {
      path.pop_back();
    } else {
      const std::string key = line.substr(0, line.find(':'));
      std::string value = line.substr(line.find(": ") + 2);
      if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
      const auto number = [&] { return std::stoull(value, nullptr, 0); };
      Packet& packet = packets.back();
      if (path.back() == "debug_annotations") {
        if (key == "uint_value") annotation = number();  // its name stands behind it
        if (key == "name") packet.annotations[value] = annotation;
      } else if (key == "timestamp") {
        packet.timestamp = number();
      } else if (key == "type") {
        packet.type = value;
      } else if (key == "name" || key == "thread_name" || key == "process_name") {
        packet.name = value;
      } else if (key == "track_uuid" || key == "uuid") {
        packet.track = number();
      } else if (key == "parent_uuid") {
        packet.parent = number();
      } else if (key == "pid") {
        packet.pid = number();
      } else if (key == "tid") {
        packet.tid = number();
      } else if (key == "counter_value") {
        packet.value = std::stoll(value);
      } else if (key == "flow_ids") {
        packet.flows.push_back(number());
      }
    }
  }
  return packets;
}

class Perfetto : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("protoc --version > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "needs protoc (Debian: protobuf-compiler)";
  }
  // Order 70 + `tick` is caused by the tick. mdh, strategy and oeg are programs of their own.
  void stamp(std::uint64_t tick, double at_us, bool with_order = true) {
    const auto at = [&](double us) {
      return TscTicks{first_ + static_cast<std::uint64_t>((at_us + us) * per_us_)};
    };
    mdh_.stamp_at(Hop::kMdhRx, tick, at(0));
    mdh_.stamp_at(Hop::kMdhBook, tick, at(0.25));
    mdh_.stamp_at(Hop::kMdhPosted, tick, at(0.5));
    strategy_.stamp_at(Hop::kStrategySeen, tick, at(0.75));
    if (!with_order) return;
    const std::uint64_t order = 70 + tick;
    strategy_.stamp_at(Hop::kStrategyDecided, order, at(1));
    strategy_.stamp_at(Hop::kStrategyPosted, order, at(1.25));
    strategy_.link_order(order, tick);
    oeg_.stamp_at(Hop::kOegSeen, order, at(1.5));
    oeg_.stamp_at(Hop::kOegSent, order, at(1.75));
  }
  std::vector<Packet> written(const PerfettoOptions& options = {}) {
    for (TraceWriter* writer : {&mdh_, &strategy_, &oeg_}) writer->write_behind();
    std::vector<TraceFile> files;
    for (const char* name : {"mdh", "strategy", "oeg"})
      files.emplace_back(folder_ / name + ".trace");
    const std::string path = folder_ / "run.perfetto";
    {
      std::ofstream out(path, std::ios::binary);
      counts_ = write_perfetto(files, options, out);
    }
    const char* const source = std::getenv("TICKPATH_SOURCE");
    const std::string proto = std::string(source == nullptr ? "." : source) + "/tests/unit/trace";
    const std::string text_path = folder_ / "text";
    const std::string command = "protoc --decode=perfetto.protos.Trace --proto_path=" + proto +
                                " " + proto + "/perfetto.proto < " + path + " > " + text_path;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    text_ = test_support::read_file(text_path);
    return parsed(text_);
  }

  test_support::Folder folder_;
  TraceWriter mdh_{{folder_ / "mdh.trace", 4096, "mdh", "shm", "yield", "cpu 0"}};
  TraceWriter strategy_{{folder_ / "strategy.trace", 4096, "strategy", "shm", "yield", "cpu 0"}};
  TraceWriter oeg_{{folder_ / "oeg.trace", 4096, "oeg", "shm", "yield", "cpu 0"}};
  double per_us_ = static_cast<double>(clock::tsc_hz()) / 1e6;
  std::uint64_t first_ = clock::read_pair().tsc.value;
  PerfettoCounts counts_;
  std::string text_;
};

TEST_F(Perfetto, AnOrdersFlowGoesThroughAllProgramsInItsOrderOfTime) {
  stamp(1, 0);
  stamp(2, 0.1);  // within the same microsecond
  stamp(3, 50, false);
  const std::vector<Packet> packets = written();
  EXPECT_EQ(counts_.flows, 2u);
  EXPECT_EQ(counts_.events, 2u * 8);
  for (const std::uint64_t tick : {1u, 2u}) {
    std::vector<std::string> names;
    std::set<std::uint64_t> tracks;
    for (const Packet& packet : packets) {
      if (packet.flows != std::vector<std::uint64_t>{70 + tick}) continue;
      names.push_back(packet.name);
      tracks.insert(packet.track);
      EXPECT_EQ(packet.annotations.at("tick"), tick);
    }
    EXPECT_THAT(names, ElementsAre("mdh.rx", "mdh.book", "mdh.posted", "strategy.seen",
                                   "strategy.decided", "strategy.posted", "oeg.seen", "oeg.sent"));
    EXPECT_EQ(tracks.size(), 3u);
  }
}

TEST_F(Perfetto, TimesAreNanosecondsAndNeverGoBack) {
  for (std::uint64_t tick = 1; tick <= 40; ++tick) stamp(tick, 0.05 * static_cast<double>(tick));
  std::uint64_t last = 0;
  std::map<std::uint64_t, int> open;
  std::vector<std::uint64_t> sent;
  for (const Packet& packet : written()) {
    if (!packet.timestamp) continue;
    EXPECT_GE(*packet.timestamp, last);
    last = *packet.timestamp;
    if (packet.type == "TYPE_SLICE_BEGIN") EXPECT_EQ(open[packet.track]++, 0) << "one at a time";
    if (packet.type == "TYPE_SLICE_END") EXPECT_EQ(--open[packet.track], 0);
    if (packet.name == "oeg.seen") sent.push_back(*packet.timestamp);
  }
  for (const auto& [track, count] : open) EXPECT_EQ(count, 0);
  ASSERT_EQ(sent.size(), 40u);
  for (std::size_t i = 1; i < sent.size(); ++i)
    EXPECT_NEAR(static_cast<double>(sent[i] - sent[i - 1]), 50, 2);
  const double now = static_cast<double>(clock::read_pair().realtime_ns);
  EXPECT_NEAR(static_cast<double>(last), now, 60e9) << "CLOCK_REALTIME";
}

TEST_F(Perfetto, EachProgramIsAProcessWithAThread) {
  stamp(1, 0);
  std::set<std::string> threads;
  std::map<std::uint64_t, std::string> tracks;
  for (const Packet& packet : written()) {
    if (packet.timestamp) continue;
    EXPECT_TRUE(tracks.emplace(packet.track, packet.name).second) << "a track twice";
    if (packet.tid == 0) continue;
    threads.insert(packet.name);
    EXPECT_TRUE(tracks.contains(packet.parent));
  }
  EXPECT_THAT(threads, ElementsAre("mdh datapath", "oeg datapath", "strategy datapath"));
  EXPECT_EQ(tracks.size(), counts_.tracks);
  EXPECT_THAT(text_, HasSubstr("trusted_packet_sequence_id: 1"));
}

TEST_F(Perfetto, CountersCountWhatIsBetweenTwoHops) {
  for (std::uint64_t tick = 1; tick <= 10; ++tick) stamp(tick, 0.001 * static_cast<double>(tick));
  std::map<std::uint64_t, std::string> names;
  std::map<std::string, std::vector<std::int64_t>> values;
  for (const Packet& packet : written()) {
    if (!packet.timestamp) names[packet.track] = packet.name;
    if (packet.type == "TYPE_COUNTER") values[names.at(packet.track)].push_back(packet.value);
  }
  EXPECT_THAT(values["ticks in the ring to strategies"], ElementsAre(10, 0));
  std::int64_t ticks = 0;
  for (const std::int64_t value : values["ticks a millisecond"]) ticks += value;
  EXPECT_EQ(ticks, 10);
}

TEST_F(Perfetto, TicksWithoutAnOrderAndChosenOrders) {
  stamp(1, 0);
  stamp(2, 10, false);
  stamp(3, 20);
  written({.all_ticks = true, .wanted = {}});
  EXPECT_EQ(counts_.flows, 3u);
  EXPECT_EQ(counts_.events, 2u * 8 + 4);
  EXPECT_THAT(text_, HasSubstr("flow_ids: 9223372036854775810"));
  written({.wanted = [](std::uint64_t order) { return order == 73; }});
  EXPECT_EQ(counts_.flows, 1u);
}

// protobuf.dev, "Encoding": 150 is 96 01; field 1 as a varint is tag 08, as text 0a.
TEST(ProtoMessage, EncodesAsTheSpecificationShows) {
  ProtoMessage message;
  message.number(1, 150);
  EXPECT_EQ(message.bytes(), std::string("\x08\x96\x01", 3));
  ProtoMessage text;
  text.text(2, "testing");
  EXPECT_EQ(text.bytes(), "\x12\x07testing");
  ProtoMessage outer;
  outer.message(3, message);
  EXPECT_EQ(outer.bytes(), std::string("\x1a\x03\x08\x96\x01", 5));
  ProtoMessage fixed;
  fixed.fixed64(1, 0x0102030405060708);
  EXPECT_EQ(fixed.bytes(), std::string("\x09\x08\x07\x06\x05\x04\x03\x02\x01", 9));
}

}  // namespace
}  // namespace tickpath::trace
