#include <map>

#include <gtest/gtest.h>

#include "common/clock/clock.hpp"
#include "common/feeds/iex/codec.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "common/net/multicast.hpp"
#include "common/trace/reader.hpp"
#include "recorded.hpp"
#include "report_log.hpp"
#include "sim/progress.hpp"
#include "sim/replay/lag_histogram.hpp"
#include "sim/replay/recording_loader.hpp"
#include "sim/replay/replayer.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/process.hpp"
#include "tests/unit/itch/capture_test_support.hpp"

namespace tickpath::sim {
namespace {

using test_support::Folder;
using namespace std::chrono_literals;

constexpr std::uint64_t kMs = 1'000'000;

// One after the other at a price, step_ns apart.
std::vector<Bytes> orders(std::uint64_t count, std::uint64_t step_ns, Side side = Side::kBuy) {
  std::vector<Bytes> messages;
  for (std::uint64_t i = 0; i < count; ++i)
    messages.push_back(add(7, "ZAAA", i + 1, side, 100, 10'000, kOpenNs + i * step_ns));
  return messages;
}
// Behind their directory.
std::vector<Bytes> listed(std::vector<Bytes> messages) {
  messages.insert(messages.begin(), directory(7, "ZAAA"));
  return messages;
}

TEST(LagHistogram, GivesQuantilesToSixPercentAndTheMaximumExactly) {
  LagHistogram lag;
  EXPECT_EQ(lag.quantile_ns(0.5), 0u);
  for (std::uint64_t i = 1; i <= 100'000; ++i) lag.add(i);
  for (const double q : {0.1, 0.5, 0.9, 0.99}) {
    const double wanted = 100'000 * q;
    EXPECT_NEAR(static_cast<double>(lag.quantile_ns(q)), wanted, wanted * 0.0625 + 1) << q;
  }
  EXPECT_EQ(lag.quantile_ns(1.0), 100'000u);
  EXPECT_EQ(lag.max_ns(), 100'000u);
  lag.add(~std::uint64_t{0});
  EXPECT_EQ(lag.max_ns(), ~std::uint64_t{0});
}

// The reading thread and the datapath thread meet over two blocks only, so that both wait often.
TEST(MessageQueue, CarriesEveryMessageInOrderBetweenTwoThreads) {
  MessageQueue queue(2);
  constexpr std::uint64_t kCount = 100'000;
  std::thread reader([&] {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const Bytes bytes(i % 50, static_cast<std::byte>(i));
      while (!queue.push(bytes, i)) std::this_thread::yield();
    }
    while (!queue.finish()) std::this_thread::yield();
  });
  QueuedMessage message;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    MessageQueue::Status status;
    while ((status = queue.front(message)) == MessageQueue::Status::kEmpty)
      std::this_thread::yield();
    ASSERT_EQ(status, MessageQueue::Status::kMessage);
    ASSERT_EQ(message.timestamp_ns, i);
    ASSERT_EQ(message.bytes.size(), i % 50);
    for (const std::byte b : message.bytes) ASSERT_EQ(b, static_cast<std::byte>(i));
    queue.pop();
  }
  reader.join();
  MessageQueue::Status status;
  while ((status = queue.front(message)) == MessageQueue::Status::kEmpty) std::this_thread::yield();
  EXPECT_EQ(status, MessageQueue::Status::kEnd);
  EXPECT_EQ(queue.front(message), MessageQueue::Status::kEnd);
}

TEST(RecordingLoader, DeliversWhatIsBeforeTheDamageAndSaysWhereItIs) {
  Folder folder;
  write_recording(folder / "cut.itch50", orders(10, 0));
  truncate_file(folder / "cut.itch50", 2 + 10);  // the end mark and part of the last message
  MessageQueue queue(4);
  RecordingLoader loader({folder / "cut.itch50", "", {}}, queue);
  loader.start();
  QueuedMessage message;
  int count = 0;
  for (MessageQueue::Status status;
       (status = queue.front(message)) != MessageQueue::Status::kEnd;) {
    if (status == MessageQueue::Status::kEmpty) {
      std::this_thread::yield();
      continue;
    }
    ++count;
    queue.pop();
  }
  EXPECT_EQ(count, 9);
  EXPECT_TRUE(loader.damaged());
  EXPECT_NE(loader.damage().find("cut.itch50"), std::string::npos) << loader.damage();
  EXPECT_NE(loader.damage().find("message 10"), std::string::npos) << loader.damage();
}

// By it a run knows what it replayed, also where it ended in the middle of the file.
TEST(RecordingLoader, HasTheDigestOfWhatItReadWhenItIsEnded) {
  Folder folder;
  write_recording(folder / "long.itch50", orders(200'000, 0));
  MessageQueue queue(4);
  RecordingLoader loader({folder / "long.itch50", "", {}}, queue);
  loader.start();
  while (loader.messages_read() < 1'000) std::this_thread::yield();
  loader.end();
  ASSERT_LT(loader.messages_read(), 200'000u) << "the queue is full";
  itch::MessageDigest digest;
  const auto recording = itch::open_recording(folder / "long.itch50");
  itch::RecordedMessage message;
  for (std::uint64_t i = 0; i < loader.messages_read(); ++i) {
    ASSERT_EQ(recording->next(message), itch::ReadStatus::kMessage);
    digest.take(message.bytes);
  }
  EXPECT_EQ(loader.digest(), digest.value());
}

TEST(MessageDigest, IsAnotherWhereAnyBitTheLengthOrTheOrderIsAnother) {
  const auto of = [](const std::vector<std::string>& messages) {
    itch::MessageDigest digest;
    for (const std::string& message : messages) digest.take(std::as_bytes(std::span(message)));
    return digest.value();
  };
  const std::vector<std::string> recorded{std::string(36, 'a'), "second", std::string(3, '\0')};
  const std::uint64_t digest = of(recorded);
  EXPECT_EQ(of(recorded), digest);
  for (std::size_t at = 0; at < recorded.size(); ++at)
    for (std::size_t bit = 0; bit < recorded[at].size() * 8; ++bit) {
      auto altered = recorded;
      altered[at][bit / 8] = static_cast<char>(altered[at][bit / 8] ^ (1 << bit % 8));
      EXPECT_NE(of(altered), digest) << at << " " << bit;
    }
  EXPECT_NE(of({recorded[0], recorded[1], std::string(4, '\0')}), digest);
  EXPECT_NE(of({recorded[1], recorded[0], recorded[2]}), digest);
  EXPECT_NE(of({recorded[0], recorded[1]}), digest);
}

TEST(RecordingLoader, TellsWhatSymbolsStandFor) {
  const Folder folder;
  const std::string text =
      "ts_recv,ts_event,instrument_id,action,side,price,size,order_id,symbol\n"
      "2024-05-08T13:30:00Z,2024-05-08T13:30:00Z,12,A,B,5156.25,3,900,ESM4-ESU4\n"
      "2024-05-08T13:30:01Z,2024-05-08T13:30:01Z,13,A,B,5156.25,3,901,ESM4\n";
  test_support::write_file(folder / "named.csv", text);
  MessageQueue queue(4);
  RecordingLoader::Names told;
  RecordingLoader loader({folder / "named.csv", "", {}}, queue);
  loader.start([&told](const RecordingLoader::Names& names) { told = names; });
  while (!loader.done()) std::this_thread::yield();
  EXPECT_EQ(told, (RecordingLoader::Names{{"#C", "ESM4-ESU4"}}));
}

TEST(RecordingLoader, PlansMessagesAndDurationAndStopsAtTo) {
  Folder folder;
  write_recording(folder / "plan.itch50", orders(10, kMs));
  const ReplayPlan plan = plan_replay({folder / "plan.itch50", "", {.speed = 0.5}});
  EXPECT_EQ(plan.messages, 10u);
  EXPECT_EQ(plan.duration_ns, 18 * kMs);
  EXPECT_EQ(plan_replay({folder / "plan.itch50", "", {.to_ns = kOpenNs + 4 * kMs}}).messages, 5u);
}

TEST(RecordingLoader, PlaysAListOfDeepCaptures) {
  const Folder folder;
  const auto write_capture = [&](const std::string& name, std::uint64_t sequence) {
    Bytes event(iex::kMaxMessageBytes);
    event.resize(iex::encode(iex::SystemEvent{.event = 'O'}, event.data()));
    Bytes segment(iex::kSegmentHeaderBytes);
    itch::test::put(segment, static_cast<std::uint16_t>(event.size()));
    segment.insert(segment.end(), event.begin(), event.end());
    iex::store_header({.protocol = iex::kDeep10,
                       .session = 7,
                       .payload_bytes = static_cast<std::uint16_t>(2 + event.size()),
                       .message_count = 1,
                       .first_sequence_number = sequence,
                       .send_time_ns = kOpenNs + sequence},
                      segment.data());
    itch::test::write_file(folder / name,
                           itch::test::pcap_file({itch::test::udp_frame(kOpenNs, segment)}));
    return folder / name;
  };
  const std::string paths = write_capture("a.pcap", 1) + "," + write_capture("b.pcap", 2);
  const auto recording =
      open_feed_recording({.path = paths, .protocol = feeds::FeedProtocol::kIexDeep10});
  EXPECT_EQ(itch::test::collect(*recording).messages.size(), 2u);
}

TEST(RecordingLoader, PlansSeveralDaysWithoutTheirNights) {
  const Folder folder;
  const auto at = [](std::uint64_t ms) { return kOpenNs + ms * kMs; };
  const auto day = [&](std::uint64_t first) {
    return std::vector<Bytes>{
        system_event('O', at(0)), add(1, "ZAAA", first, Side::kBuy, 1, 100, at(3)),
        add(1, "ZAAA", first + 1, Side::kBuy, 1, 100, at(8)), system_event('C', at(9))};
  };
  std::vector<Bytes> messages = day(1);
  for (const Bytes& message : day(3)) messages.push_back(message);
  write_recording(folder / "days.itch50", messages);
  const auto plan = [&](const PaceOptions& pace) {
    return plan_replay({folder / "days.itch50", "", pace});
  };
  EXPECT_EQ(plan({}).duration_ns, 18 * kMs);
  constexpr std::uint64_t kDay = 86'400'000 * kMs;
  EXPECT_EQ(plan({.to_ns = at(5)}).messages, 2u);
  EXPECT_EQ(plan({.to_ns = kDay + at(5)}).messages, 6u);
  EXPECT_EQ(plan({.from_ns = at(3)}).duration_ns, 15 * kMs);
  EXPECT_EQ(plan({.from_ns = kDay + at(3)}).duration_ns, 6 * kMs);
}

// A time of 0 in the afternoon is no midnight.
TEST(RecordingLoader, AMessageWithoutATimeNeitherWaitsNorEndsTheReplay) {
  const Folder folder;
  constexpr std::uint64_t kNoonNs = 43'200'000 * kMs;
  std::vector<Bytes> messages;
  for (std::uint64_t i = 0; i < 10; ++i)
    messages.push_back(system_event('Q', i == 4 ? 0 : kNoonNs + (i + 1) * kMs));
  write_recording(folder / "zero.itch50", messages);
  const auto plan = [&](const PaceOptions& pace) {
    return plan_replay({folder / "zero.itch50", "", pace});
  };
  EXPECT_EQ(plan({}).duration_ns, 9 * kMs);
  EXPECT_EQ(plan({.to_ns = 2 * kNoonNs - 1}).messages, 10u);
  EXPECT_EQ(plan({.from_ns = kNoonNs + 8 * kMs}).duration_ns, 2 * kMs);
}

TEST(RecordingLoader, PlansHowMuchIsLeftFromAnyTime) {
  const Folder folder;
  write_recording(folder / "plan.itch50", orders(1'024, kMs));
  const ReplayPlan plan = plan_replay({folder / "plan.itch50", "", {}});
  EXPECT_EQ(plan.duration_ns, 1'023 * kMs);
  EXPECT_EQ(plan.remaining_ns(0), 1'023 * kMs);
  EXPECT_EQ(plan.messages_before(kOpenNs + 600 * kMs), 512u);
  EXPECT_EQ(plan.remaining_ns(kOpenNs + 600 * kMs), (1'023 - 512) * kMs);
  EXPECT_EQ(plan.remaining_ns(kOpenNs + 3'600'000 * kMs), (1'023 - 768) * kMs);
}

// A replay on loopback, driven by hand and received by a socket of ours.
class ReplayOnLoopback : public ::testing::Test {
 protected:
  static constexpr net::Endpoint kGroup{0xefff'071b, 17'733};  // 239.255.7.27

  void prepare(const std::vector<Bytes>& messages, const ReplayerOptions& options,
               std::uint16_t packet_messages = 4) {
    FeedOptions feed{.socket = {.group = kGroup, .interface = "127.0.0.1"},
                     .session = "TEST",
                     .packet_messages = packet_messages};
    feed_ = std::make_unique<FeedSender>(feed, trace_);
    MatcherOptions matcher{.book = {.orders_max = 1024, .levels_max = 1024}, .order_ids_max = 1024};
    matcher_ = std::make_unique<Matcher>(matcher, log_);
    market_ = std::make_unique<Market>(*matcher_);
    for (const Bytes& message : messages)
      ASSERT_TRUE(queue_.push(message, itch::timestamp_ns(message.data())));
    ASSERT_TRUE(queue_.finish());
    replayer_ = std::make_unique<Replayer>(options, queue_, *feed_, *market_);
  }
  // Takes what has arrived; counts messages, heartbeats and ends of session.
  void receive() {
    std::array<std::byte, 2048> buffer;
    net::Datagram datagram;
    while (receiver_.receive(buffer, datagram) == net::IoStatus::kOk) {
      itch::mold::PacketCursor packet(datagram.bytes);
      heartbeats_ += packet.header().is_heartbeat() ? 1 : 0;
      ends_ += packet.header().is_end_of_session() ? 1 : 0;
      EXPECT_EQ(packet.header().session.view(), "TEST");
      EXPECT_EQ(packet.header().sequence_number, received_.size() + 1);
      packets_ += packet.header().messages() != 0 ? 1 : 0;
      for (std::span<const std::byte> m; packet.next(m);)
        received_.emplace_back(m.begin(), m.end());
    }
  }
  void turns_until(auto done) {
    ASSERT_TRUE(test_support::turn_until(done, [&] {
      replayer_->turn();
      receive();
    }));
  }
  void run_until_ended() {
    turns_until([this] { return replayer_->state() == ReplayState::kEnded; });
    receive();
  }

  net::UdpMulticastReceiver receiver_{{.group = kGroup, .interface = "127.0.0.1"}};
  Folder folder_;
  trace::TraceWriter trace_{{folder_ / "sim.trace", 4096, "sim", "", "", ""}};
  ReportLog log_;
  MessageQueue queue_{4};
  std::unique_ptr<FeedSender> feed_;
  std::unique_ptr<Matcher> matcher_;
  std::unique_ptr<Market> market_;
  std::unique_ptr<Replayer> replayer_;
  std::vector<Bytes> received_;
  int packets_ = 0;
  int heartbeats_ = 0;
  int ends_ = 0;
};

TEST_F(ReplayOnLoopback, SendsEveryMessageInOrderThenTheEndAndKeepsTheBook) {
  const std::vector<Bytes> messages = listed(orders(20, 1));
  prepare(messages, {.pace = {.mode = PaceMode::kMax}});
  EXPECT_EQ(replayer_->state(), ReplayState::kWaiting);
  replayer_->start();
  run_until_ended();
  EXPECT_EQ(received_, messages);
  EXPECT_EQ(packets_, 6);  // 21 messages, at most 4 in each
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(matcher_->book().best(7, Side::kBuy), (book::Quote{10'000, 2'000}));
  EXPECT_EQ(market_->symbols().find("ZAAA"), 7u);
  EXPECT_EQ(market_->symbols().find("ZAAB"), wire::kNoInstrument);
  EXPECT_EQ(replayer_->progress().lag.count(), 0u);  // no rate, so nothing is late
  EXPECT_EQ(replayer_->progress().position_ns.get(), kOpenNs + 19);
}

TEST_F(ReplayOnLoopback, PublishesOurOrdersInOneSequenceWithTheRecordingAndEndsWhenTheyHave) {
  const std::vector<Bytes> messages = listed(orders(40, 1, Side::kSell));
  prepare(messages, {.pace = {.mode = PaceMode::kMax}, .heartbeat_ns = 1 * kMs});
  market_->publish_to(*feed_);
  const auto enter = [&](std::uint64_t id, std::uint32_t shares, std::int64_t price) {
    matcher_->enter(NewOrder{.order_id = id, .price = {price}, .locate = 7, .shares = shares});
  };
  enter(1, 100, 9'000);  // in a packet of its own, before the recording's
  replayer_->start();
  run_until_ended();
  enter(2, 3'950, 10'000);  // takes 40 orders: more messages than a packet holds
  turns_until([&] { return received_.size() == 1 + 41 + 40; });
  EXPECT_EQ(ends_, 0);
  matcher_->close();
  replayer_->finish_session();
  receive();
  EXPECT_EQ(ends_, 1);
  ASSERT_EQ(received_.size(), 1u + 41 + 40 + 1);
  EXPECT_EQ(static_cast<char>(received_.front().front()), 'A');
  EXPECT_TRUE(std::equal(messages.begin(), messages.end(), received_.begin() + 1));
  for (std::size_t i = 42; i < 82; ++i) {
    const auto executed = itch::decode_as<itch::OrderExecuted>(received_[i].data());
    EXPECT_EQ(static_cast<char>(received_[i].front()), 'E');
    EXPECT_EQ(executed.order_reference_number, i - 41);
    EXPECT_EQ(executed.executed_shares, i == 81 ? 50u : 100u);
  }
  EXPECT_EQ(static_cast<char>(received_.back().front()), 'D');  // the day order that was left
}

TEST_F(ReplayOnLoopback, SendsNothingBeforeItIsDue) {
  const std::vector<Bytes> messages = orders(4, 20 * kMs);
  prepare(messages, {});
  const auto start = std::chrono::steady_clock::now();
  replayer_->start();
  run_until_ended();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 60ms);
  // One each, unless this process was held up: what has become due meanwhile travels together.
  EXPECT_GE(packets_, 1);
  EXPECT_LE(packets_, 4);
  EXPECT_EQ(received_, messages);
  EXPECT_EQ(replayer_->progress().lag.count(), 4u);
}

// By message: when it was due, and when it was sent.
struct DueAndSent {
  std::map<std::uint64_t, double> due, sent;
};

DueAndSent due_and_sent(const std::string& path) {
  DueAndSent found;
  trace::TraceFile(path).for_each([&](const trace::Record& record) {
    const auto hop = static_cast<trace::Hop>(record.key >> 56);
    auto& times = hop == trace::Hop::kTickDue ? found.due : found.sent;
    times[record.key & trace::kIdMask] = static_cast<double>(record.time);
  });
  return found;
}

class ScheduledReplay : public ReplayOnLoopback, public ::testing::WithParamInterface<bool> {};

TEST_P(ScheduledReplay, StampsWhenTheScheduleHadEachMessage) {
  prepare(orders(4, 5 * kMs), {});
  if (GetParam()) market_->publish_to(*feed_);
  replayer_->start();
  turns_until([this] { return received_.size() == 4; });
  trace_.write_behind();
  const DueAndSent found = due_and_sent(folder_ / "sim.trace");
  ASSERT_EQ(found.due.size(), 4u);
  const double per_ns = static_cast<double>(clock::tsc_hz()) * 1e-9;
  for (std::uint64_t message = 1; message <= 4; ++message) {
    EXPECT_LE(found.due.at(message), found.sent.at(message));
    EXPECT_NEAR((found.due.at(message) - found.due.at(1)) / per_ns,
                static_cast<double>((message - 1) * 5 * kMs), 1e3);
  }
}

INSTANTIATE_TEST_SUITE_P(PublishedOrAsRecorded, ScheduledReplay, ::testing::Bool());

TEST_F(ReplayOnLoopback, WithoutAScheduleNothingIsDue) {
  prepare(orders(4, 1), {.pace = {.mode = PaceMode::kMax}});
  replayer_->start();
  run_until_ended();
  trace_.write_behind();
  const DueAndSent found = due_and_sent(folder_ / "sim.trace");
  EXPECT_EQ(found.due.size(), 0u);
  EXPECT_EQ(found.sent.size(), 4u);
}

TEST_F(ReplayOnLoopback, SendsHeartbeatsWhileItWaitsAndAfterAHalt) {
  prepare({add(7, "ZAAA", 1, Side::kBuy, 100, 10'000)}, {.pace = {}, .heartbeat_ns = 1 * kMs});
  const auto start = std::chrono::steady_clock::now();
  turns_until([this] { return heartbeats_ >= 3; });
  const std::chrono::duration<double, std::milli> waited = std::chrono::steady_clock::now() - start;
  EXPECT_LE(heartbeats_, waited.count() + 1);  // one a millisecond at most
  EXPECT_EQ(replayer_->state(), ReplayState::kWaiting);
  replayer_->halt();
  replayer_->start();  // too late
  EXPECT_EQ(replayer_->state(), ReplayState::kHalted);
  const int before = heartbeats_;
  turns_until([&] { return heartbeats_ >= before + 2; });
  EXPECT_TRUE(received_.empty());
  EXPECT_EQ(ends_, 0);
  replayer_->end();
  turns_until([this] { return ends_ >= 2; });
}

TEST_F(ReplayOnLoopback, StandsStillWhilePausedAndGoesOnWhereItWas) {
  std::vector<Bytes> messages = orders(5, 20 * kMs);
  messages[0] = directory(7, "ZAAA");
  prepare(messages, {.pace = {}, .heartbeat_ns = kMs});
  replayer_->pause();  // nothing runs yet
  EXPECT_EQ(replayer_->state(), ReplayState::kWaiting);
  replayer_->start();
  turns_until([this] { return !received_.empty(); });
  replayer_->pause();
  EXPECT_EQ(replayer_->state(), ReplayState::kPaused);
  const std::size_t before = received_.size();
  ASSERT_LT(before, messages.size());
  const std::uint64_t elapsed = replayer_->progress().elapsed_ns.get();
  const auto paused = std::chrono::steady_clock::now();
  heartbeats_ = 0;
  turns_until([&] {
    return heartbeats_ >= 3 &&
           std::chrono::steady_clock::now() - paused > std::chrono::milliseconds(200);
  });
  EXPECT_EQ(received_.size(), before);
  EXPECT_EQ(replayer_->progress().elapsed_ns.get(), elapsed);
  replayer_->resume();
  EXPECT_EQ(replayer_->state(), ReplayState::kRunning);
  run_until_ended();
  EXPECT_EQ(received_, messages);
}

TEST_F(ReplayOnLoopback, ASeekOfAPausedReplayLeavesItPausedAndSendsWhatLiesBetweenOnceItGoesOn) {
  constexpr std::uint64_t kHour = 3'600'000 * kMs;
  std::vector<Bytes> messages = orders(21, kHour / 10);
  messages[0] = directory(7, "ZAAA");
  prepare(messages, {.pace = {.rate = 100'000, .burst = 4}});
  replayer_->start();
  replayer_->turn();
  replayer_->pause();
  replayer_->seek(kOpenNs);  // is past
  EXPECT_EQ(replayer_->state(), ReplayState::kPaused);
  replayer_->seek(kOpenNs + 10 * kHour);
  EXPECT_EQ(replayer_->state(), ReplayState::kPaused);
  for (int i = 0; i < 10; ++i) replayer_->turn();
  receive();
  EXPECT_EQ(received_.size(), 1u);
  replayer_->resume();
  run_until_ended();
  EXPECT_EQ(received_, messages);
  EXPECT_EQ(matcher_->book().orders_resting(), 20u);
}

TEST_F(ReplayOnLoopback, SkipsMessagesThatFitNoPacketWithoutANumber) {
  const Bytes huge(2'000, std::byte{'A'});
  prepare({directory(7, "ZAAA"), huge, directory(8, "ZAAB")}, {.pace = {.mode = PaceMode::kMax}});
  replayer_->start();
  run_until_ended();
  EXPECT_EQ(received_.size(), 2u);
  EXPECT_EQ(feed_->counters().oversized.get(), 1u);
}

TEST_F(ReplayOnLoopback, HandsOnWhatIsNotItchAndCountsIt) {
  const Bytes odd(20, std::byte{'z'});
  prepare({odd, directory(8, "ZAAB")}, {.pace = {.mode = PaceMode::kMax}});
  replayer_->start();
  run_until_ended();
  EXPECT_EQ(received_.size(), 2u);
  EXPECT_EQ(market_->counters().undecodable.get(), 1u);
}

TEST_F(ReplayOnLoopback, EndOfSystemHoursExpiresDayOrders) {
  prepare({directory(7, "ZAAA"), system_event('E')}, {.pace = {.mode = PaceMode::kMax}});
  matcher_->enter(NewOrder{.order_id = 1, .price = {10'000}, .locate = 7, .shares = 10});
  replayer_->start();
  run_until_ended();
  EXPECT_EQ(log_.brief.back().kind, ReportKind::kExpired);
  EXPECT_EQ(log_.brief.back().reason, Reason::kSessionEnd);
}

TEST(ProgressLine, ShowsShareMessagesTimeRateAndWhatIsLeft) {
  ReplayStatus status{.messages_sent = 250,
                      .messages_total = 1'000,
                      .position_ns = kOpenNs,
                      .rate = 99,
                      .remaining_ns = 3'000'000'000};
  const std::string line = progress_line(status);
  EXPECT_NE(line.find("[#######......................."), std::string::npos) << line;
  EXPECT_NE(line.find(" 25 %"), std::string::npos) << line;
  EXPECT_NE(line.find("250 messages  09:30:00.000  99/s  3 s left"), std::string::npos) << line;
}

}  // namespace
}  // namespace tickpath::sim
