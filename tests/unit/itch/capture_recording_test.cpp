// Packet captures as recordings.
#include "common/feeds/recordings/capture_recording.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/recordings/binary_file.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/capture_test_support.hpp"

namespace tickpath::itch {
namespace {

using test::Bytes;
using test::Frame;
using ::testing::HasSubstr;

constexpr std::uint64_t kStartNs = 1'700'000'000'000'000'000;
constexpr std::uint64_t kFirstTimeNs = 34'200'000'000'000;  // 09:30

Bytes message(std::uint64_t number) {
  return test::encoded(
      OrderDelete{.header = {.stock_locate = 1, .timestamp = kFirstTimeNs + number},
                  .order_reference_number = number});
}

// Sequence numbers from 1, three messages a packet, a packet each microsecond.
std::vector<Frame> feed(std::uint64_t packets, int tags = 0, std::uint8_t group = 1,
                        std::uint64_t late_ns = 0) {
  std::vector<Frame> frames;
  for (std::uint64_t i = 0; i < packets; ++i) {
    const std::uint64_t sequence = 1 + 3 * i;
    const Bytes packet = test::mold_packet(
        sequence, {message(sequence), message(sequence + 1), message(sequence + 2)});
    frames.push_back(test::udp_frame(kStartNs + i * 1000 + late_ns, packet, tags, group));
  }
  return frames;
}

// A capture in memory, which it reads.
class Opened {
 public:
  explicit Opened(Bytes file)
      : file_(std::move(file)), recording_(test_support::open_memory(file_, "t.pcap")) {}
  CaptureRecording& operator*() { return recording_; }
  CaptureRecording* operator->() { return &recording_; }

 private:
  Bytes file_;
  CaptureRecording recording_;
};
Opened opened(Bytes file) { return Opened(std::move(file)); }

void expect_numbers(const test::Collected& all, const std::vector<std::uint64_t>& numbers) {
  ASSERT_EQ(all.messages.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    ASSERT_EQ(decode_as<OrderDelete>(all.messages[i].data()).order_reference_number, numbers[i]);
}
std::vector<std::uint64_t> up_to(std::uint64_t last) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 1; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

struct Kind {
  const char* name;
  Bytes (*make)(const std::vector<Frame>&);
  std::uint64_t resolution_ns;
};
class CaptureKinds : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(
    Formats, CaptureKinds,
    ::testing::Values(
        Kind{"pcap_ns", [](const std::vector<Frame>& f) { return test::pcap_file(f); }, 1},
        Kind{"pcap_us", [](const std::vector<Frame>& f) { return test::pcap_file(f, false); },
             1000},
        Kind{"pcapng", [](const std::vector<Frame>& f) { return test::pcapng_file(f); }, 1}),
    [](const auto& each) { return each.param.name; });

TEST_P(CaptureKinds, AreReadMessageByMessageDueWhenTheirPacketsCame) {
  for (const int tags : {0, 1, 2}) {
    std::vector<Frame> frames = feed(50, tags);
    frames.back().time_ns += 1'234'567;
    auto reader = opened(GetParam().make(frames));
    const test::Collected all = test::collect(*reader);
    EXPECT_EQ(all.status, ReadStatus::kEnd);
    expect_numbers(all, up_to(150));
    EXPECT_EQ(all.times.front(), kFirstTimeNs + 1);
    EXPECT_EQ(all.times[3], kFirstTimeNs + 1 + 1000);
    const std::uint64_t last = 49 * 1000 + 1'234'567;
    EXPECT_EQ(all.times.back(),
              kFirstTimeNs + 1 + last / GetParam().resolution_ns * GetParam().resolution_ns);
    EXPECT_EQ(reader->counts().packets, 50u);
    EXPECT_EQ(reader->channels().at("239.255.1.1:26400"), 50u);
    EXPECT_EQ(reader->format(), RecordingFormat::kPacketCapture);
    EXPECT_EQ(reader->remarks(), "50 packets of session \"SESSION001\"");
  }
}

TEST(CaptureRecordings, TwoChannelsOfOneSessionGiveEachMessageOnceFromWhicheverCameFirst) {
  // B is late, and each loses packets that the other has; between them other traffic.
  std::vector<Frame> frames;
  const std::vector<Frame> a = feed(100), b = feed(100, 1, 2, 400);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i % 7 != 3) frames.push_back(a[i]);
    if (i % 7 != 5) frames.push_back(b[i]);
    if (i % 10 == 0) frames.push_back(test::udp_frame(a[i].time_ns, test::to_bytes("other")));
  }
  auto reader = opened(test::pcap_file(frames));
  const test::Collected all = test::collect(*reader);
  expect_numbers(all, up_to(300));
  EXPECT_EQ(reader->counts().missing, 0u);
  EXPECT_EQ(reader->counts().other_datagrams, 10u);
  EXPECT_EQ(reader->counts().repeated + 300, 3 * reader->counts().packets);
  EXPECT_EQ(reader->channels().size(), 2u);
  EXPECT_EQ(all.times[9], kFirstTimeNs + 1 + 3400) << "packet 3 came on B only, 400 ns later";
}

TEST(CaptureRecordings, PutReorderedPacketsInOrder) {
  std::mt19937 random(7);
  std::vector<Frame> frames = feed(200);
  // Within 20 places; the first stays, it says where the session begins.
  for (std::size_t i = 1; i + 20 < frames.size(); i += 20)
    std::shuffle(frames.begin() + static_cast<std::ptrdiff_t>(i),
                 frames.begin() + static_cast<std::ptrdiff_t>(i + 20), random);
  auto reader = opened(test::pcap_file(frames));
  expect_numbers(test::collect(*reader), up_to(600));
  EXPECT_EQ(reader->counts().gaps, 0u);
}

// Number 1 was sent, says the first heartbeat; 10 comes next, says the last packet.
TEST(CaptureRecordings, MissWhatIsProvenAtEitherEnd) {
  const auto told = [](std::vector<Frame> frames) {
    auto reader = opened(test::pcap_file(frames));
    (void)test::collect(*reader);
    return std::pair(reader->counts().gaps, reader->counts().missing);
  };
  const auto heartbeat = [](std::uint64_t next) {
    return test::udp_frame(kStartNs, test::mold_packet(next, {}));
  };
  Bytes end = test::mold_packet(10, {});
  end[18] = end[19] = std::byte{0xff};
  const std::vector<Frame> whole = feed(3), tail(whole.begin() + 1, whole.end()),
                           head(whole.begin(), whole.end() - 1);
  const auto joined = [](std::vector<Frame> first, const std::vector<Frame>& then) {
    first.insert(first.end(), then.begin(), then.end());
    return first;
  };
  using Told = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(told(joined({heartbeat(1)}, whole)), Told(0, 0));
  EXPECT_EQ(told(joined({heartbeat(1)}, tail)), Told(1, 3));
  EXPECT_EQ(told(joined(whole, {heartbeat(10)})), Told(0, 0));
  EXPECT_EQ(told(joined(head, {heartbeat(7), heartbeat(10)})), Told(1, 3));
  EXPECT_EQ(told(joined(head, {test::udp_frame(kStartNs, end)})), Told(1, 3));
}

TEST(CaptureRecordings, SayWhichProtocolOfIexAnotherCaptureHas) {
  const auto error_of = [](std::uint8_t protocol) {
    Bytes segment(40);
    segment[0] = std::byte{1};
    segment[2] = std::byte{protocol};
    segment[3] = std::byte{0x80};
    const Bytes file = test::pcap_file({test::udp_frame(kStartNs, segment)});
    const auto error = test_support::thrown<RecordingError>([&] { opened(file); });
    return error ? std::string(error->what()) : "";
  };
  EXPECT_THAT(error_of(4), HasSubstr("play it with feed.protocol = \"iex_deep10\""));
  EXPECT_THAT(error_of(3), HasSubstr("TOPS, which has no books"));
  EXPECT_THAT(error_of(5), HasSubstr("of message protocol 0x8005: DEEP 1.0 (0x8004) can be"));
}

// CME MDP 3.0: number and time of the packet, then a message of 20 bytes with schema 1.
TEST(CaptureRecordings, NameACaptureOfCme) {
  const auto error_of = [](std::uint8_t schema) {
    Bytes packet(32);
    packet[12] = std::byte{20};
    packet[18] = std::byte{schema};
    const Bytes file = test::pcap_file({test::udp_frame(kStartNs, packet)});
    const auto error = test_support::thrown<RecordingError>([&] { opened(file); });
    return error ? std::string(error->what()) : "";
  };
  EXPECT_THAT(error_of(1), HasSubstr("of CME's MDP 3.0, which is not read: Databento"));
  EXPECT_THAT(error_of(9), ::testing::Not(HasSubstr("CME")));
}

TEST(CaptureRecordings, PassOverMessagesWithoutBytes) {
  const Bytes packet = test::mold_packet(1, {message(1), {}, message(3)});
  auto reader = opened(test::pcap_file({test::udp_frame(kStartNs, packet)}));
  expect_numbers(test::collect(*reader), {1, 3});
  EXPECT_EQ(reader->counts().empty_messages, 1u);
  EXPECT_EQ(reader->counts().missing, 0u);
}

// Captured with a snap length below some packets: this looks like loss on the feed, and is none.
TEST(CaptureRecordings, TellOfPacketsThatTheCaptureCutShort) {
  std::vector<Frame> frames = feed(4);
  frames[1].bytes.resize(60);
  auto reader = opened(test::pcap_file(frames));
  (void)test::collect(*reader);
  EXPECT_THAT(reader->remarks(), HasSubstr("3 messages are missing"));
  EXPECT_THAT(reader->remarks(), HasSubstr("1 packets were captured short of their length"));
  for (Frame& frame : frames) frame.bytes.resize(60);
  const auto error = test_support::thrown<RecordingError>([&] { opened(test::pcap_file(frames)); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("4 packets were captured short of their length"));
}

TEST(CaptureRecordings, TellOfFragmentsThatAreLeftOut) {
  std::vector<Frame> frames = feed(4);
  frames[1].bytes[14 + 6] = std::byte{0x20};  // more fragments follow
  frames[2].bytes[14 + 7] = std::byte{0x01};  // not the first one
  auto reader = opened(test::pcap_file(frames));
  expect_numbers(test::collect(*reader), {1, 2, 3, 10, 11, 12});
  EXPECT_THAT(reader->remarks(), HasSubstr("2 IP fragments were not put together"));
}

TEST(CaptureRecordings, CountAGapAndGoOnBehindIt) {
  std::vector<Frame> frames = feed(1000);
  frames.erase(frames.begin() + 10, frames.begin() + 12);
  frames.erase(frames.end() - 2);  // and one that no later packet can prove for long
  auto reader = opened(test::pcap_file(frames));
  const test::Collected all = test::collect(*reader);
  EXPECT_EQ(all.messages.size(), 3000u - 9u);
  EXPECT_EQ(reader->counts().gaps, 2u);
  EXPECT_EQ(reader->counts().missing, 9u);
  EXPECT_THAT(reader->remarks(), HasSubstr("9 messages are missing, 2 gaps"));
}

TEST(CaptureRecordings, PlayUpToTheDamageAndSayWhereItIs) {
  const Bytes whole = test::pcap_file(feed(10));
  Bytes file = whole;
  file.resize(file.size() - 30);
  auto reader = opened(file);
  const test::Collected all = test::collect(*reader);
  EXPECT_EQ(all.status, ReadStatus::kDamaged);
  expect_numbers(all, up_to(27));
  const std::size_t at = 24 + 9 * ((whole.size() - 24) / 10);
  EXPECT_THAT(reader->damage(), HasSubstr("t.pcap: packet 10 at byte " + std::to_string(at) + ":"));
}

TEST(CaptureRecordings, ADamagedPacketCostsItsMessagesAndNoMore) {
  std::vector<Frame> frames = feed(10);
  // The second message block of packet 4 claims more than there is.
  Bytes& bytes = frames[4].bytes;
  const std::size_t length_at = 14 + 20 + 8 + mold::kHeaderBytes + 2 + OrderDelete::kLength;
  bytes[length_at] = std::byte{0x7f};
  auto reader = opened(test::pcap_file(frames));
  const test::Collected all = test::collect(*reader);
  EXPECT_EQ(all.messages.size(), 28u);
  EXPECT_EQ(reader->counts().damaged_packets, 1u);
  EXPECT_EQ(reader->counts().missing, 2u);
}

TEST(CaptureRecordings, LeaveOtherSessionsOutAndSaySo) {
  std::vector<Frame> frames = feed(5);
  frames.push_back(test::udp_frame(kStartNs, test::mold_packet(1, {message(99)}, "SESSION002")));
  auto reader = opened(test::pcap_file(frames));
  expect_numbers(test::collect(*reader), up_to(15));
  EXPECT_EQ(reader->counts().other_sessions, 1u);
}

// "D" of each message, "S" with the code of each event, and "|" before what begins a day.
std::string story_of(CaptureRecording& recording) {
  std::string story;
  for (RecordedMessage m; recording.next(m) == ReadStatus::kMessage;) {
    story += m.begins_day ? "|" : "";
    story += message_type(m.bytes.data()) == SystemEvent::kType ? static_cast<char>(m.bytes.back())
                                                                : 'd';
  }
  return story;
}
Frame of_session_2(std::uint64_t later_ns, std::uint64_t sequence,
                   const std::vector<Bytes>& messages) {
  return test::udp_frame(kStartNs + later_ns, test::mold_packet(sequence, messages, "SESSION002"));
}
Bytes event(char code) {
  return test::encoded(
      SystemEvent{.header = {.timestamp = kFirstTimeNs - 1000}, .event_code = code});
}

TEST(CaptureRecordings, AreDueByTheFirstMessageThatHasATime) {
  const Bytes zero = test::encoded(SystemEvent{.event_code = 'O'});
  auto reader = opened(
      test::pcap_file({test::udp_frame(kStartNs, test::mold_packet(1, {zero})),
                       test::udp_frame(kStartNs + 500, test::mold_packet(2, {message(2)})),
                       test::udp_frame(kStartNs + 700, test::mold_packet(3, {message(3)}))}));
  EXPECT_THAT(test::collect(*reader).times,
              ::testing::ElementsAre(0, kFirstTimeNs + 2, kFirstTimeNs + 202));
}

TEST(CaptureRecordings, GoOnWithASessionThatBeginsWhenTheOneBeforeIsSilent) {
  constexpr std::uint64_t kLaterNs = CaptureRecording::kSessionSilenceNs + 1'000'000;
  std::vector<Frame> frames = feed(2);
  frames.push_back(of_session_2(kLaterNs, 1, {event('O'), message(99)}));
  frames.push_back(of_session_2(kLaterNs, 3, {message(100)}));
  frames.push_back(test::udp_frame(kStartNs + kLaterNs, test::mold_packet(1, {message(1)})));
  auto reader = opened(test::pcap_file(frames));
  EXPECT_EQ(story_of(*reader), "ddddddC|Odd");
  EXPECT_EQ(reader->counts().later_sessions, 1u);
  EXPECT_EQ(reader->counts().other_sessions, 1u) << "of the first, behind its end";
  EXPECT_EQ(reader->counts().missing, 0u);
  EXPECT_THAT(reader->remarks(), HasSubstr("\"SESSION001\", 1 later sessions, each another day"));
}

// Local times are the same on both days. The capture's clock (UTC) has had a weekend, and the hour
// of daylight-saving time, in between.
TEST(CaptureRecordings, BeginEachDayAtItsOwnTime) {
  constexpr std::uint64_t kHourNs = 3'600'000'000'000, kWeekendNs = 71 * kHourNs;
  std::vector<Frame> frames = feed(2);
  frames.push_back(of_session_2(kWeekendNs, 1, {event('O'), message(7)}));
  frames.push_back(of_session_2(kWeekendNs + 300, 3, {message(8)}));
  auto reader = opened(test::pcap_file(frames));
  const std::vector<std::uint64_t> times = test::collect(*reader).times;
  ASSERT_EQ(times.size(), 10u);
  constexpr std::uint64_t kTuesdayNs = 24 * kHourNs + kFirstTimeNs - 1000;
  EXPECT_EQ(times[5], times[6]) << "the end of the first day";
  EXPECT_THAT(std::vector(times.begin() + 7, times.end()),
              ::testing::ElementsAre(kTuesdayNs, kTuesdayNs, kTuesdayNs + 300));
}

// One session, as a replay of two days sends it: the second follows without a night.
TEST(CaptureRecordings, BeginADayWithinASessionAtItsOwnTime) {
  const auto packet_at = [](std::uint64_t later_ns, std::uint64_t sequence, const Bytes& message) {
    return test::udp_frame(kStartNs + later_ns, test::mold_packet(sequence, {message}));
  };
  auto reader = opened(
      test::pcap_file({packet_at(0, 1, message(1)), packet_at(100, 2, event('C')),
                       packet_at(200, 3, event('O')), packet_at(500, 4, message(2)),
                       packet_at(600, 5, test::encoded(itch::SystemEvent{.event_code = 'D'})),
                       packet_at(700, 6, message(3))}));
  constexpr std::uint64_t kDayNs = TradingDay::kDayNs;
  EXPECT_THAT(test::collect(*reader).times,
              ::testing::ElementsAre(kFirstTimeNs + 1, kFirstTimeNs + 101,
                                     kDayNs + kFirstTimeNs - 1000, kDayNs + kFirstTimeNs - 700,
                                     2 * kDayNs, 2 * kDayNs + kFirstTimeNs + 3));
}

// Neither session has events of a day: its sender was restarted.
TEST(CaptureRecordings, PartASessionThatHasNoDayFromTheOneBefore) {
  Bytes end = test::mold_packet(10, {});  // three messages are lost before
  end[18] = end[19] = std::byte{0xff};
  std::vector<Frame> frames = feed(2);
  frames.push_back(test::udp_frame(kStartNs + 5'000, end));
  frames.push_back(of_session_2(6'000, 1, {message(99)}));
  auto reader = opened(test::pcap_file(frames));
  EXPECT_EQ(story_of(*reader), "ddddddC|Od");
  EXPECT_EQ(reader->counts().missing, 3u);
}

TEST(CaptureRecordings, LeaveASessionOutThatRunsBesideTheirs) {
  std::vector<Frame> frames = feed(5);
  frames.insert(frames.begin() + 3, of_session_2(2'500, 1, {message(99)}));
  frames.push_back(of_session_2(20'000, 2, {message(100)}));
  auto reader = opened(test::pcap_file(frames));
  expect_numbers(test::collect(*reader), up_to(15));
  EXPECT_EQ(reader->counts().other_sessions, 2u);
}

TEST(CaptureRecordings, RefuseACaptureWithoutAnItchFeed) {
  const Bytes file = test::pcap_file({test::udp_frame(kStartNs, test::to_bytes("hello"))});
  EXPECT_EQ(test_support::error_of<RecordingError>([&] { opened(file); }),
            "t.pcap: no ITCH 5.0 messages over MoldUDP64 in this capture: 1 packets, 1 UDP "
            "datagrams");
}

// Bytes changed, cut and repeated at random: any end is good but a crash.
TEST(CaptureRecordings, SurviveAnyDamage) {
  std::mt19937 random(11);
  const Bytes whole = test::pcapng_file(feed(20, 1));
  for (int round = 0; round < 2000; ++round) {
    Bytes file = whole;
    for (int i = 0; i < 4; ++i)
      file[random() % file.size()] = static_cast<std::byte>(random() & 255);
    if (round % 3 == 0) file.resize(random() % file.size());
    try {
      auto reader = opened(file);
      EXPECT_LE(test::collect(*reader).messages.size(), 60u);
    } catch (const RecordingError& error) {
      EXPECT_THAT(error.what(), HasSubstr("t.pcap: "));
    }
  }
}

TEST(CaptureRecordings, CompressedOrNotAreOpenedByTheirContent) {
  const test::TemporaryFolder folder;
  const Bytes file = test::pcap_file(feed(50));
  for (const char* const name : {"a.pcap", "b.cap.gz", "c.zst"}) {
    const auto sink = files::create_file(folder / name);
    sink->write(file);
    sink->close();
    const auto reader = open_recording(folder / name);
    EXPECT_EQ(reader->format(), RecordingFormat::kPacketCapture) << name;
    expect_numbers(test::collect(*reader), up_to(150));
    EXPECT_EQ(reader->file_bytes_read(), reader->file_bytes_total()) << name;
  }
}

TEST(CaptureRecordings, RealCapturesOfNasdaqsFeedAreRecordings) {
  const auto folder = test::data_folder() / "itch_packets/Nasdaq.Equities.TotalView.Itch.v5.0";
  TICKPATH_NEED_DATA(folder);
  std::uint64_t files = 0, messages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto reader = open_recording(entry.path());
    const test::Collected all = test::collect(*reader);
    EXPECT_EQ(all.status, ReadStatus::kEnd) << entry.path();
    for (const Bytes& each : all.messages)
      EXPECT_EQ(length_of(message_type(each.data())), each.size()) << entry.path();
    messages += all.messages.size();
    ++files;
  }
  EXPECT_GT(files, 0u);
  EXPECT_GT(messages, 38u) << "one of them holds a packet of 38";
}

// libpcap has one link type and byte order a file; what it says does not help anybody.
TEST(PcapngCaptures, OfTwoLinkTypesOrByteOrdersAreRefusedWithWhatToDo) {
  const auto two_interfaces = test_support::case_file("09-pcapng-two-link-types/ng_2if.pcapng");
  const auto two_sections = test_support::case_file("09-pcapng-two-link-types/ng_2sect.pcapng");
  const auto advice = HasSubstr("-Y \"frame.interface_id == 0\" -w PART.pcapng");
  TICKPATH_NEED_DATA(two_interfaces);
  EXPECT_THAT(test_support::error_of<RecordingError>([&] { (void)open_recording(two_interfaces); }),
              AllOf(HasSubstr("a type 101 different from the type of the first"), advice));
  const auto reader = open_recording(two_sections);
  const test::Collected all = test::collect(*reader);
  EXPECT_EQ(all.messages.size(), 4u);
  EXPECT_EQ(all.status, ReadStatus::kDamaged);
  EXPECT_THAT(reader->damage(), advice);
}

// A sibling: the second interface comes behind packets of the first.
TEST(PcapngCaptures, WithAnotherLinkTypeLaterArePlayedUpToThere) {
  Bytes file = test::pcapng_file(feed(20, 1));
  Bytes interface = test::pcapng_file({});
  interface.erase(interface.begin(), interface.begin() + 28);  // the section's header
  interface[8] = std::byte{101};
  file.insert(file.end(), interface.begin(), interface.end());
  CaptureRecording recording(test_support::open_memory(file, "two.pcapng"));
  EXPECT_EQ(test::collect(recording).status, ReadStatus::kDamaged);
  EXPECT_THAT(recording.damage(),
              AllOf(HasSubstr("type 101 different from"), HasSubstr("editcap -F pcap -T ether")));
  const Bytes cut(file.begin(), file.end() - 3);
  CaptureRecording other(test_support::open_memory(cut, "cut.pcapng"));
  EXPECT_EQ(test::collect(other).status, ReadStatus::kDamaged);
  EXPECT_THAT(other.damage(), Not(HasSubstr("editcap")));
}

}  // namespace
}  // namespace tickpath::itch
