// oeg's datapath over the shm fabric and a real FIX session, driven turn by turn, between a
// strategy and an exchange that the test plays.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "common/base/datapath_guard.hpp"
#include "common/fix/codec.hpp"
#include "common/wire/order_id.hpp"
#include "oeg/datapath.hpp"
#include "tests/support/connect.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sockets.hpp"

namespace tickpath::oeg::played {

using namespace std::chrono_literals;

constexpr std::uint8_t kRemoteStrategy = 5;

// Accepts everything; fills market orders and what buys at 50.00 at once.
class Exchange final : public fix::Handler {
 public:
  explicit Exchange(fix::Session& session) : session_(session) {}

  void on_new_order(const fix::NewOrderSingle& order, const fix::MessageInfo&) noexcept override {
    ++orders;
    fix::ExecutionReport report = of(order.cl_ord_id, order.order_qty, order.side, order.symbol);
    if (order.price.value == kRefusedPrice) {
      report.exec_type = fix::ExecType::kRejected;
      report.ord_status = fix::OrdStatus::kRejected;
      report.text = kRefusal;
      session_.send(report);
      return;
    }
    report.exec_type = fix::ExecType::kNew;
    report.leaves_qty = order.order_qty;
    session_.send(report);
    if (order.price.value != 500'000) return;
    report.exec_id = ++executions_;
    report.exec_type = fix::ExecType::kFill;
    report.ord_status = fix::OrdStatus::kFilled;
    report.leaves_qty = 0;
    report.cum_qty = report.last_shares = order.order_qty;
    report.last_price = order.price;
    session_.send(report);
  }
  void on_cancel_request(const fix::OrderCancelRequest& cancel,
                         const fix::MessageInfo&) noexcept override {
    ++cancels;
    fix::ExecutionReport report =
        of(cancel.cl_ord_id, cancel.order_qty, cancel.side, cancel.symbol);
    report.orig_cl_ord_id = cancel.orig_cl_ord_id;
    report.exec_type = fix::ExecType::kCanceled;
    report.ord_status = fix::OrdStatus::kCanceled;
    session_.send(report);
  }

  // At this price it refuses, with this reason.
  static constexpr std::uint32_t kRefusedPrice = 410'000;
  static constexpr std::string_view kRefusal =
      "ExecInst (18) 6: the order would trade on arrival; ask again";
  int orders = 0;
  int cancels = 0;

 private:
  fix::ExecutionReport of(std::uint64_t id, std::uint32_t shares, Side side,
                          const fix::Symbol& symbol) noexcept {
    return {.order_id = id,
            .exec_id = ++executions_,
            .cl_ord_id = id,
            .order_qty = shares,
            .side = side,
            .symbol = symbol};
  }
  fix::Session& session_;
  std::uint64_t executions_ = 0;
};

struct Strategy {
  void on_message(const wire::OrderReport& report) noexcept {
    if (report.kind == wire::ReportKind::kPosition) {
      wire::PositionReport position;
      std::memcpy(&position, &report, sizeof(position));
      held[position.instrument_id] = position;
      return;
    }
    if (report.kind == wire::ReportKind::kPositionsEnd) {
      ++ends;
      return;
    }
    if (report.kind == wire::ReportKind::kAccepting) {
      refuses.push_back(report.reason);
      return;
    }
    if (report.kind == wire::ReportKind::kText) {
      wire::TextReport part;
      std::memcpy(&part, &report, sizeof(part));
      text += std::string(part.text, part.length) + (part.last != 0 ? "|" : "");
      return;
    }
    last = report;
    ++reports;
    fills += report.kind == wire::ReportKind::kFill ? 1 : 0;
    canceled += report.kind == wire::ReportKind::kCanceled ? 1 : 0;
  }
  void on_link(link::LinkEvent event) noexcept { up = event == link::LinkEvent::kConnected; }
  wire::OrderReport last{};
  std::map<std::uint32_t, wire::PositionReport> held;
  int ends = 0;  // of the positions
  int reports = 0;
  int fills = 0;
  int canceled = 0;
  std::string text;                            // of the venue; each ends with '|'
  std::vector<trading::RejectReason> refuses;  // as it was told
  bool up = false;
};

// risk as oeg sees it: a subscriber of the drop copy that writes control blocks when it is told to.
class PlayedRisk {
 public:
  explicit PlayedRisk(rdma::Device& device)
      : heartbeat_(device, "risk.heartbeat"),
        events_(device, nullptr, options()),
        writer_(device, "risk.block") {}

  void connect(const std::string& endpoint) {
    const wire::Hello hello{};
    const rdma::Grant heartbeat = heartbeat_.grant();
    connect_now(events_, endpoint, link::bytes_of(hello), std::span(&heartbeat, 1));
  }
  void turn() {
    heartbeat_.beat();
    events_.poll(*this);
    events_.poll_sinks();
  }
  bool ready() const { return writer_.ready(); }
  bool write(const wire::ControlBlock& block) {
    wire::ControlBlock next = block;
    next.generation = ++generation_;
    return writer_.write(next) == rdma::PostStatus::kOk;
  }
  bool found(wire::ControlBlock& block) const { return writer_.found(block); }
  void close() { events_.close(); }
  std::uint64_t events() const { return taken_; }  // of the drop copy

  void on_update(const wire::OrderEvent&, std::uint64_t) noexcept { ++taken_; }
  void on_overrun(std::uint64_t) noexcept {}
  void on_link(link::LinkEvent event) noexcept {
    if (event == link::LinkEvent::kConnected)
      writer_.attach(*events_.connection(), events_.connection()->extras()[0]);
    else
      writer_.detach();
  }

 private:
  static link::SubscriberOptions options() { return {.name = "risk.events", .depth = 256}; }
  link::Heartbeat heartbeat_;
  link::Subscriber<wire::OrderEvent> events_;
  link::ControlBlockWriter<wire::ControlBlock> writer_;
  std::uint64_t generation_ = 0;
  std::uint64_t taken_ = 0;
};

class OegDatapathTest : public ::testing::Test {
 protected:
  using Client = link::ChannelClient<wire::OrderRequest, wire::OrderReport>;

  OegDatapathTest() : device_(rdma::open_device("shm", "")) {
    config_.session.store = directory_ + "/oeg.store";
    config_.journal.path = directory_ + "/oeg.journal";
    config_.journal.records = 4096;
    config_.session.store_messages = 4096;
    config_.session.sending_time_max_s = 0;  // a venue by hand writes what time it likes
    config_.mdh.ring_slots = 1024;
    config_.gateway.instruments_max = 64;
    config_.risk_required = false;
    config_.gateway.limits.collar_basis_points = 0;
    trace_ = std::make_unique<trace::TraceWriter>(trace::TraceOptions{});
    open_gateway();
    fix::SessionOptions options{.role = fix::SessionRole::kAcceptor,
                                .sender = config_.session.target,
                                .target = config_.session.sender,
                                .store_path = directory_ + "/exchange.store",
                                .store_messages = 4096};
    session_ = std::make_unique<fix::Session>(options);
    exchange_ = std::make_unique<Exchange>(*session_);
    listener_ = device_->listen(directory_ + "/oeg.fabric");
  }
  ~OegDatapathTest() override {
    client_.reset();
    risk_.reset();
    oeg_.reset();
    listener_.reset();
    session_.reset();
  }

  void open_gateway() {
    oeg_ = std::make_unique<OegDatapath>(config_, *device_, *trace_, hot_log_);
    oeg_->gateway().instruments().set_symbol(3, "AAPL");
  }
  void connect_venue() {
    const auto [ours, theirs] = test_support::socket_pair();
    ASSERT_TRUE(session_->attach(theirs));
    ASSERT_TRUE(oeg_->venue().give_socket(ours));
    until([&] { return oeg_->session().logged_on(); });
  }
  // Connecting waits for the acceptor, so each has a thread.
  void connect_strategy() {
    client_ = std::make_unique<Client>(*device_, nullptr, link::ChannelOptions{.name = "strategy"});
    std::thread connecting([&] {
      wire::Hello hello{};
      connect_now(*client_, directory_ + "/oeg.fabric", link::bytes_of(hello));
    });
    StrategySlot* slot = oeg_->gateway().slots().assign(kRemoteStrategy);
    std::unique_ptr<rdma::ConnectionRequest> request;
    while ((request = listener_->next()) == nullptr) std::this_thread::sleep_for(1ms);
    const wire::Hello answer{};
    accept_now(oeg_->strategies().channels(), *request, link::bytes_of(answer), {},
               oeg_->gateway().slots().index(*slot));
    connecting.join();
    until([&] { return strategy_.up && slot->connected; });
  }
  void connect_both() {
    connect_venue();
    connect_strategy();
  }
  void connect_risk() {
    risk_ = std::make_unique<PlayedRisk>(*device_);
    std::thread connecting([&] { risk_->connect(directory_ + "/oeg.fabric"); });
    std::unique_ptr<rdma::ConnectionRequest> request;
    while ((request = listener_->next()) == nullptr) std::this_thread::sleep_for(1ms);
    const wire::Hello answer{};
    const rdma::Grant grants[] = {oeg_->risk().new_block()};
    accept_now(oeg_->drop_copy().events(), *request, link::bytes_of(answer), grants, "risk");
    connecting.join();
    until([&] { return oeg_->drop_copy().events().subscriber_count() == 1 && risk_->ready(); });
  }
  void lose_risk() {
    risk_.reset();
    until([&] { return oeg_->drop_copy().events().subscriber_count() == 0; });
    turn();
  }
  void turns(int count) {
    while (count-- > 0) turn();
  }
  std::uint64_t refused_for(trading::RejectReason reason) const {
    return oeg_->gateway().counters().refused_for[static_cast<std::size_t>(reason)].get();
  }
  // The answer to a new order that rests: kAccepted, or why not.
  wire::OrderReport answer_to_an_order() {
    const int before = strategy_.reports;
    EXPECT_EQ(client_->send(order(400'000)), link::SendStatus::kOk);
    until([&] { return strategy_.reports > before; });
    return strategy_.last;
  }
  void turn() {
    {
      const DatapathScope scope;
      oeg_->turn();
    }
    if (risk_) risk_->turn();
    session_->poll(*exchange_);
    if (client_) client_->poll(strategy_);
  }
  void until(const std::function<bool()>& done) {
    ASSERT_TRUE(test_support::turn_until(done, [&] { turn(); }));
  }
  wire::OrderRequest order(std::uint32_t price) {
    return {.order_id = wire::OrderId::make(kRemoteStrategy, 1, ++counter_),
            .price = {price},
            .instrument_id = 3,
            .shares = 10,
            .kind = wire::RequestKind::kNew,
            .side = Side::kBuy,
            .type = trading::OrderType::kLimit};
  }

  test_support::Folder folder_;
  std::string directory_ = folder_.path();
  OegConfig config_;
  std::unique_ptr<rdma::Device> device_;
  std::unique_ptr<trace::TraceWriter> trace_;
  log::HotLog hot_log_;
  std::unique_ptr<OegDatapath> oeg_;
  std::unique_ptr<fix::Session> session_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<rdma::Listener> listener_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<PlayedRisk> risk_;
  Strategy strategy_;
  std::uint32_t counter_ = 0;
};

}  // namespace tickpath::oeg::played
