// Rights in the running programs: who gets in, who is told why not, and what is taken back.
#include "common/wire/rights.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "common/control/admin_client.hpp"
#include "common/link/link.hpp"
#include "common/wire/wire.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/provider.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;
using wire::Role;
using wire::Service;

using BookSubscriber = link::Subscriber<wire::BookUpdate, wire::BookImage>;

struct RunningPipeline : ::testing::Test {
  void SetUp() override {
    start("risk:order_limits.order_shares_max=1");
  }  // every order is refused
  void start(const std::string& setting) {
    up_ = std::make_unique<Process>(folder_.up(folder_.generate(400'000, 60), {"--set", setting}),
                                    folder_.path());
    ASSERT_TRUE(up_->wait_for_output("strategy   ready", test_support::kPatience)) << up_->output();
    device_ = test_support::open_test_device();
  }
  void TearDown() override {
    if (!up_) return;
    up_->signal(SIGINT);
    EXPECT_THAT(up_->wait(test_support::kPatience), Ends(0));
  }

  link::TableConnection ask(const std::string& program, Role role, Service service) {
    wire::Hello hello{
        .role = role, .service = service, .process_id = static_cast<std::uint32_t>(::getpid())};
    return link::connect_tables(*device_, folder_.endpoint(program), link::bytes_of(hello), {},
                                10'000, program);
  }
  // Why not; empty: it is one of `subscribers` from now on.
  std::string subscribe(Role role, std::vector<std::unique_ptr<BookSubscriber>>& subscribers) {
    const wire::Hello hello{.role = role,
                            .service = Service::kBookUpdates,
                            .process_id = static_cast<std::uint32_t>(::getpid())};
    auto subscriber = std::make_unique<BookSubscriber>(
        *device_, nullptr, link::SubscriberOptions{.depth = 64, .image_count = 16'384});
    const auto error = test_support::thrown<rdma::SetupError>([&] {
      subscriber->start_connect(folder_.endpoint("mdh"), link::bytes_of(hello), {}, 10'000);
      while (!subscriber->poll_connect()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    if (error) return error->what();
    subscribers.push_back(std::move(subscriber));
    return {};
  }
  std::string refusal(const std::string& program, Role role, Service service) {
    const auto error =
        test_support::thrown<rdma::SetupError>([&] { (void)ask(program, role, service); });
    if (!error) return "it was let in";
    EXPECT_EQ(error->cause(), rdma::SetupCause::kRefused) << error->what();
    return error->what();
  }
  std::uint64_t counter(const std::string& program, const char* name) const {
    const auto status = control::admin_command(control::admin_path(folder_.run_dir(), program),
                                               {{"command", "counters"}});
    return status.at("counters").at("connections").at(name).get<std::uint64_t>();
  }
  Finished tickpath(const std::string& command, const std::string& role) const {
    return run({program("tickpath"), command, role, "--run-dir", folder_.run_dir()});
  }
  bool becomes(const std::function<bool()>& condition) const {
    return test_support::wait_until(condition);
  }

  PipelineFolder folder_;
  std::unique_ptr<Process> up_;
  std::unique_ptr<rdma::Device> device_;
};

TEST_F(RunningPipeline, GivesNoRoleAServiceThatIsNotItsOwn) {
  std::map<std::string, std::uint64_t> refused;
  for (const auto& [name, self] : {std::pair<std::string, Role>{"mdh", Role::kMdh},
                                   std::pair<std::string, Role>{"oeg", Role::kOeg}})
    for (unsigned role = 1; role <= 6; ++role)
      for (const unsigned service : {1u, 2u, 3u, 4u, 8u}) {
        const auto peer = static_cast<Role>(role);
        const auto asked = static_cast<Service>(service);
        if (wire::may_use(self, peer, asked)) continue;
        EXPECT_THAT(refusal(name, peer, asked), HasSubstr("has no right to service"))
            << wire::name(peer) << " asks " << name << " for " << wire::name(asked);
        ++refused[name];
      }
  EXPECT_EQ(counter("mdh", "refused_right"), refused["mdh"]);
  EXPECT_EQ(counter("oeg", "refused_right"), refused["oeg"]);
}

TEST_F(RunningPipeline, GivesAToolTablesToReadAndNothingToWrite) {
  for (const char* name : {"mdh", "oeg"}) {
    const link::TableConnection tool = ask(name, Role::kTool, Service::kRemoteTables);
    ASSERT_FALSE(tool.connection->extras().empty());
    for (const rdma::RemoteRegion& region : tool.connection->extras())
      EXPECT_EQ(region.access, rdma::kRemoteRead) << name;
  }
}

// Trading stops without risk (risk.required): strategies in numbers must not keep it out.
TEST_F(RunningPipeline, StrategiesCannotTakeAllPlacesOfSubscribers) {
  std::vector<std::unique_ptr<BookSubscriber>> subscribers;
  std::string refused;
  for (int i = 0; i < 20 && refused.empty(); ++i) refused = subscribe(Role::kStrategy, subscribers);
  EXPECT_THAT(refused, HasSubstr("places are kept for gateways and their risks"));
  EXPECT_EQ(subscribe(Role::kRisk, subscribers), "");
  // Subscribers that leave make room for others.
  subscribers.clear();
  EXPECT_TRUE(becomes([&] { return subscribe(Role::kStrategy, subscribers).empty(); }));
}

TEST_F(RunningPipeline, TakesTheRightsOfARunningRoleBackAndGivesThemAgain) {
  // Revoked first and tried then: a tool, whose next READ fails.
  // What oeg has not accepted to the end yet is dropped instead: there is nothing to READ by then.
  link::TableConnection tool;
  ASSERT_TRUE(becomes([&] {
    EXPECT_EQ(tickpath("restore", "tool").exit_code, 0);
    tool = ask("oeg", Role::kTool, Service::kRemoteTables);
    const Finished revoked = tickpath("revoke", "tool");
    EXPECT_EQ(revoked.exit_code, 0) << revoked.output;
    return revoked.output.find(" 0 rights") == std::string::npos;
  }));
  const auto target = device_->allocate(4096, rdma::kLocalWrite, "read");
  const rdma::RemoteRegion& table = tool.connection->extras()[wire::OegTablesGrants::kPositions];
  rdma::CompletionStatus status = rdma::CompletionStatus::kSuccess;
  ASSERT_TRUE(becomes([&] {
    rdma::WorkRequest read{.opcode = rdma::Opcode::kRead,
                           .flags = rdma::kSignaled,
                           .local_address = target->data(),
                           .length_bytes = 8,
                           .lkey = target->lkey(),
                           .rkey = table.rkey,
                           .remote_address = table.address};
    if (tool.connection->queue_pair().post_send(read) != rdma::PostStatus::kOk) return true;
    rdma::Completion done;
    while (tool.connection->completion_queue().poll({&done, 1}) == 0) {
    }
    status = done.status;
    return status != rdma::CompletionStatus::kSuccess;
  }));
  EXPECT_EQ(status, rdma::CompletionStatus::kRemoteAccess);
  EXPECT_THAT(refusal("oeg", Role::kTool, Service::kRemoteTables), HasSubstr("were revoked"));
  EXPECT_EQ(tickpath("restore", "tool").exit_code, 0);
  EXPECT_NO_THROW((void)ask("oeg", Role::kTool, Service::kRemoteTables));

  // risk loses its control block, is kept out, and comes back by itself when it is let in.
  EXPECT_THAT(tickpath("revoke", "risk"), Ends(0, "1 rights taken back"));
  EXPECT_TRUE(becomes([&] { return counter("oeg", "refused_barred") > 1; }));
  EXPECT_EQ(tickpath("restore", "risk").exit_code, 0);
  EXPECT_TRUE(becomes([&] {
    return control::admin_command(control::admin_path(folder_.run_dir(), "risk"),
                                  {{"command", "ready"}})
        .value("ready", false);
  }));
  EXPECT_THAT(tickpath("revoke", "strategy"), Ends(::testing::Ne(0), "tickpath kill"));
}

// Trading goes on without risk here, as it would not by default: so that it misses much.
struct TradingWithoutRisk : RunningPipeline {
  void SetUp() override {
    // An earlier life of oeg left it.
    std::filesystem::create_directory(folder_.run_dir());
    std::filesystem::permissions(folder_.run_dir(), std::filesystem::perms::owner_all);
    write_file(folder_.run_dir() + "/oeg.revoked", "tool\n");
    start("oeg:risk.required=false");
  }
};

TEST_F(TradingWithoutRisk, RiskTakesOverTheFillsThatItMissedWhileItWasBarred) {
  EXPECT_THAT(refusal("oeg", Role::kTool, Service::kRemoteTables), HasSubstr("were revoked"));
  EXPECT_EQ(tickpath("restore", "tool").exit_code, 0);
  EXPECT_EQ(read_file(folder_.run_dir() + "/oeg.revoked"), "");
  ASSERT_TRUE(folder_.wait_counter_above("oeg", "reports", "fills", 20)) << up_->output();
  ASSERT_EQ(tickpath("revoke", "risk").exit_code, 0);
  ASSERT_TRUE(becomes([&] { return counter("oeg", "refused_barred") > 1; }));
  // Barred now, and its books stand still while oeg's go on.
  const std::uint64_t seen = folder_.counter("risk", "orders", "fills");
  const std::uint64_t filled = folder_.counter("oeg", "reports", "fills");
  ASSERT_TRUE(folder_.wait_counter_above("oeg", "reports", "fills", filled + 50)) << up_->output();
  EXPECT_EQ(folder_.counter("risk", "orders", "fills"), seen);
  const std::uint64_t passes = folder_.counter("risk", "reconcile", "passes");
  ASSERT_EQ(tickpath("restore", "risk").exit_code, 0);
  ASSERT_TRUE(folder_.wait_counter_above("risk", "reconcile", "passes", passes)) << up_->output();
  // risk follows again, and ends with the positions and the cash of the strategy.
  ASSERT_TRUE(folder_.wait_counter_above("risk", "orders", "fills", seen + 20)) << up_->output();
  up_->signal(SIGINT);
  const Finished finished = up_->wait(test_support::kPatience);
  up_.reset();
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_FALSE(folder_.positions("oeg").empty());
  EXPECT_EQ(folder_.positions("risk"), folder_.positions("oeg"));
}

}  // namespace
}  // namespace tickpath::test_support
