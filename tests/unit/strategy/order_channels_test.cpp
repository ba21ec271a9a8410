// A strategy's channels to a pair of oegs over the real fabric; both are played by hand in this
// process.
#include "strategy/order_channels.hpp"

#include <atomic>
#include <deque>

#include <gmock/gmock.h>

#include "common/wire/hello.hpp"
#include "common/wire/names.hpp"
#include "tests/support/connect.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::strategy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Told = std::vector<std::string>;

// One of the pair: silent unless told to speak.
class OneOfAPair {
 public:
  using Server = link::ChannelServer<wire::OrderReport, wire::OrderRequest>;

  void accept(rdma::ConnectionRequest& request) {
    const auto hello = link::read_program<wire::Hello>(request.hello());
    ASSERT_TRUE(hello.has_value());
    const std::array<rdma::Grant, 1> extras{heartbeat.grant()};
    client = link::ClientId{accept_now(*server, request, {}, extras, hello->instance)};
  }
  void restart() {
    server.reset();
    server = make(*fabric.device);
  }
  void tell_position(std::uint64_t epoch, std::int64_t shares) {
    send(wire::PositionReport{.position_shares = shares,
                              .instrument_id = 3,
                              .kind = wire::ReportKind::kPosition,
                              .strategy_id = 1,
                              .epoch = epoch});
  }
  void tell_end(std::uint64_t epoch) {
    send(wire::PositionReport{
        .kind = wire::ReportKind::kPositionsEnd, .strategy_id = 1, .epoch = epoch});
  }
  void say_leads(std::uint64_t epoch) {
    send(wire::PositionReport{.kind = wire::ReportKind::kLeads, .strategy_id = 1, .epoch = epoch});
  }
  void lead(std::uint64_t epoch, std::int64_t shares = 100) {
    tell_position(epoch, shares);
    tell_end(epoch);
  }
  void say_accepting(trading::RejectReason refuses) {
    send(wire::OrderReport{.kind = wire::ReportKind::kAccepting, .reason = refuses});
  }
  void say_held(std::uint32_t instrument) {
    send(wire::OrderReport{.instrument_id = instrument,
                           .kind = wire::ReportKind::kHeld,
                           .reason = trading::RejectReason::kException});
  }
  void report(std::uint64_t id) {
    send(wire::OrderReport{.order_id = id, .kind = wire::ReportKind::kAccepted});
  }
  void turn() {
    if (beats) heartbeat.beat();
    server->poll(*this);
  }
  void on_message(link::ClientId, std::uint64_t, const wire::OrderRequest& request) noexcept {
    requests.push_back(request.order_id);
  }
  void on_client(link::ClientId, std::uint64_t, link::LinkEvent) noexcept {}

  link::test::Fabric fabric;
  link::Heartbeat heartbeat{*fabric.device, "heartbeat"};
  std::unique_ptr<Server> server = make(*fabric.device);
  link::ClientId client;
  std::vector<std::uint64_t> requests;
  bool beats = true;

 private:
  static std::unique_ptr<Server> make(rdma::Device& device) {
    return std::make_unique<Server>(device, nullptr, link::ChannelOptions{});
  }
  template <class Message>
  void send(const Message& message) {
    wire::OrderReport bytes;
    std::memcpy(&bytes, &message, sizeof(bytes));
    EXPECT_EQ(server->send(client, bytes), link::SendStatus::kOk);
  }
};

class ChannelsToAPair : public ::testing::Test {
 protected:
  ChannelsToAPair() {
    channels.add(1);
    connect(a);
    connect(b);
  }
  OrderChannelsOptions options() const {
    OrderChannelsOptions options{.endpoint = a.fabric.endpoint,
                                 .standby_endpoint = b.fabric.endpoint,
                                 .name = "strategy",
                                 .depth = 64};
    options.heartbeat.dead_after_ns = 3'600'000'000'000;  // only a lost connection tells
    return options;
  }
  static std::uint64_t now() { return static_cast<std::uint64_t>(clock::monotonic_ns()); }

  // ---- what the engine is told
  void on_report(std::uint8_t, const wire::OrderReport& report) noexcept {
    told.push_back("report " + std::to_string(report.order_id));
  }
  void on_position(std::uint8_t, const wire::PositionReport& held) noexcept {
    told.push_back("position " + std::to_string(held.position_shares));
  }
  void on_gateway(std::uint8_t, bool up) noexcept { told.push_back(up ? "up" : "down"); }
  void on_gateway_silent(std::uint8_t) noexcept { told.push_back("silent"); }
  void on_accepting(std::uint8_t, trading::RejectReason refuses) noexcept {
    told.push_back("refuses " + std::string(trading::name(refuses)));
  }
  void on_held(std::uint8_t, std::uint32_t instrument, trading::RejectReason refuses) noexcept {
    told.push_back("held " + std::to_string(instrument) + " " +
                   std::string(trading::name(refuses)));
  }
  void on_text(std::uint8_t, const wire::TextReport& text) noexcept {
    told.push_back("text " + std::string(text.text, text.length));
  }
  friend OrderChannels;

  void connect(OneOfAPair& oeg) {
    std::atomic<bool> met{false};
    oeg.fabric.meet(
        [&] {
          for (int attempt = 0; attempt < 500 && !met.load(); ++attempt) {
            channels.maintain(now());
            channels.poll(*this, now());
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
        },
        [&](rdma::ConnectionRequest& request) {
          oeg.accept(request);
          met.store(true);
        });
    // The hand-over to the datapath on both sides.
    EXPECT_TRUE(soon([&] { return alive(&oeg == &a ? 0 : 1); }));
  }
  bool alive(std::size_t index) const { return channels.view()[index].alive; }
  bool send(std::uint64_t id) {
    return channels.send(wire::OrderRequest{.order_id = id, .strategy_id = 1});
  }
  template <class Done>
  ::testing::AssertionResult soon(Done&& done) {
    const bool so = link::test::eventually([&] {
      turn_oegs();
      channels.maintain(now());
      channels.poll(*this, now());
      return done();
    });
    return so ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "not in time";
  }
  // Everything that was sent is there, and the strategy has not looked yet.
  void turn_oegs() {
    for (int i = 0; i < 3; ++i) {
      a.turn();
      b.turn();
    }
  }
  // A lost connection may show first by a heartbeat's READ that fails: "silent" is no news then.
  ::testing::AssertionResult soon_down() {
    const auto so = soon([&] { return !told.empty() && told.back() == "down"; });
    std::erase(told, "silent");
    return so;
  }
  // Nothing new comes however long one waits.
  void settle() {
    int turns = 0;
    ASSERT_TRUE(soon([&] { return ++turns > 500; }));
  }
  Told take() { return std::exchange(told, {}); }

  OneOfAPair a;
  OneOfAPair b;
  std::unique_ptr<rdma::Device> device = link::test::open_test_device();
  OrderChannels channels{*device, nullptr, options()};
  Told told;
};

TEST_F(ChannelsToAPair, TellNothingOfTwoThatAreSilent) {
  settle();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_FALSE(send(1));
  EXPECT_THAT(channels.not_ready_reason(), HasSubstr(b.fabric.endpoint + " to lead"));
}

TEST_F(ChannelsToAPair, TellWhatTheOneThatLeadsRefusesAlone) {
  a.say_accepting(trading::RejectReason::kSessionDown);
  b.say_leads(7);
  a.say_held(2);
  b.say_accepting(trading::RejectReason::kRiskAbsent);
  b.say_held(3);
  b.lead(7);
  b.say_accepting(trading::RejectReason::kNone);
  ASSERT_TRUE(soon([&] { return told.size() == 5; }));
  EXPECT_THAT(take(), ElementsAre("refuses risk_absent", "held 3 exception", "position 100",
                                  "refuses none", "up"));
  EXPECT_EQ(channels.flow(1)->reports.get(), 0u) << "they are no reports";
}

TEST_F(ChannelsToAPair, AreReadyWithTheOneThatLeadsWhateverBecomesOfTheOther) {
  b.lead(7);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  EXPECT_THAT(take(), ElementsAre("position 100", "up"));
  EXPECT_EQ(channels.not_ready_reason(), "");
  ASSERT_TRUE(send(1));
  ASSERT_TRUE(soon([&] { return b.requests.size() == 1; }));
  a.restart();
  ASSERT_TRUE(soon([&] { return !alive(0); }));
  settle();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_EQ(channels.not_ready_reason(), "");
  EXPECT_EQ(channels.losses().count.get(), 0u);
  EXPECT_THAT(a.requests, IsEmpty());
  const auto view = channels.view();
  EXPECT_FALSE(view[0].leads);
  EXPECT_TRUE(view[1].leads && view[1].alive);
  EXPECT_EQ(view[1].epoch, 7u);
}

// More than a poll takes at a time, and on the channel that is looked at first.
TEST_F(ChannelsToAPair, GoOverToAHigherEpochBehindWhatHadArrivedFromTheOldOne) {
  a.lead(1);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  take();
  constexpr std::uint64_t kReports = 50;
  for (std::uint64_t id = 1; id <= kReports; ++id) a.report(id);
  b.tell_position(2, 300);
  turn_oegs();
  ASSERT_TRUE(soon([&] { return told.size() == kReports + 2; }));
  for (std::uint64_t id = 1; id <= kReports; ++id)
    EXPECT_EQ(told[id - 1], "report " + std::to_string(id));
  EXPECT_EQ(told[kReports], "down");
  EXPECT_EQ(told[kReports + 1], "position 300");
  take();
  EXPECT_THAT(channels.not_ready_reason(), HasSubstr("waiting for oeg"));
  b.tell_end(2);
  ASSERT_TRUE(soon([&] { return told.size() == 1; }));
  EXPECT_THAT(take(), ElementsAre("up"));
  ASSERT_TRUE(send(9));
  ASSERT_TRUE(soon([&] { return b.requests.size() == 1; }));
  EXPECT_THAT(a.requests, IsEmpty());
  EXPECT_EQ(channels.superseded(), 0u);
  EXPECT_EQ(channels.takeovers(), 1u);
}

// The new leader's channel is looked at before the old one's.
TEST_F(ChannelsToAPair, LookAtTheOldChannelBeforeTheyActOnTheNewOne) {
  b.lead(1);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  take();
  for (std::uint64_t id = 1; id <= 3; ++id) b.report(id);
  a.lead(2);
  turn_oegs();
  ASSERT_TRUE(soon([&] { return told.size() == 6; }));
  EXPECT_THAT(take(),
              ElementsAre("report 1", "report 2", "report 3", "down", "position 100", "up"));
}

TEST_F(ChannelsToAPair, DropWhatAnOegStillSaysThatLeadsNoMore) {
  a.lead(1);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  b.lead(2, 300);
  ASSERT_TRUE(soon([&] { return told.size() == 5; }));
  take();
  // More than there are credits, so that they must have been given back.
  for (std::uint64_t id = 1; id <= 200; ++id) {
    a.report(id);
    ASSERT_TRUE(soon([&] { return channels.superseded() == id; }));
  }
  EXPECT_THAT(take(), IsEmpty());
  a.restart();
  settle();
  EXPECT_THAT(take(), IsEmpty()) << "its loss is nobody's";
}

TEST_F(ChannelsToAPair, NeverFollowAnOegThatComesBackWithALowerEpoch) {
  a.lead(5);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  b.lead(6, 300);
  ASSERT_TRUE(soon([&] { return told.size() == 5; }));
  take();
  a.restart();
  ASSERT_TRUE(soon([&] { return !alive(0); }));
  connect(a);
  a.lead(5, 999);
  a.report(1);
  ASSERT_TRUE(soon([&] { return channels.superseded() == 3; }));
  EXPECT_THAT(take(), IsEmpty());
  // Not even when there is nobody else.
  b.restart();
  ASSERT_TRUE(soon_down());
  EXPECT_THAT(take(), ElementsAre("down"));
  a.lead(5, 999);
  ASSERT_TRUE(soon([&] { return channels.superseded() == 5; }));
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_FALSE(send(1));
  EXPECT_FALSE(channels.not_ready_reason().empty());
}

TEST_F(ChannelsToAPair, TakeTheLeaderBackThatWasLostAndComesAgainInItsEpoch) {
  a.lead(4);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  a.restart();
  ASSERT_TRUE(soon_down());
  EXPECT_THAT(take(), ElementsAre("position 100", "up", "down"));
  EXPECT_EQ(channels.losses().count.get(), 1u);
  connect(a);
  a.lead(4, 200);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  EXPECT_THAT(take(), ElementsAre("position 200", "up"));
  EXPECT_EQ(channels.takeovers(), 0u);
}

// What the other one did meanwhile was not told: it begins anew, on the same connection.
TEST_F(ChannelsToAPair, BeginAnewWithALeaderThatLeadsAgainInAHigherEpoch) {
  a.lead(1);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  take();
  a.lead(3, 500);
  ASSERT_TRUE(soon([&] { return told.size() == 3; }));
  EXPECT_THAT(take(), ElementsAre("down", "position 500", "up"));
  EXPECT_EQ(channels.takeovers(), 0u);
}

// What became of its orders meanwhile is told before the positions that have it.
TEST_F(ChannelsToAPair, TakeReportsOfANewLeaderBeforeItsPositions) {
  a.lead(1);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  take();
  b.say_leads(2);
  b.report(7);
  b.lead(2, 300);
  ASSERT_TRUE(soon([&] { return told.size() == 4; }));
  EXPECT_THAT(take(), ElementsAre("down", "report 7", "position 300", "up"));
  EXPECT_EQ(channels.superseded(), 0u);
  EXPECT_EQ(channels.flow(1)->reports.get(), 1u);
}

TEST_F(ChannelsToAPair, GoOverFromALeaderThatWasLostBefore) {
  a.lead(1);
  ASSERT_TRUE(soon([&] { return told.size() == 2; }));
  a.restart();
  ASSERT_TRUE(soon_down());
  take();
  b.tell_end(2);  // this strategy has no row
  ASSERT_TRUE(soon([&] { return told.size() == 1; }));
  EXPECT_THAT(take(), ElementsAre("up"));
  EXPECT_EQ(channels.takeovers(), 1u);
}

}  // namespace
}  // namespace tickpath::strategy
