// Shared values: an owner, and clients that change the same keys, on the fabric.
#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/link/detail/one_sided.hpp"
#include "common/stores/values/value_client.hpp"
#include "common/wire/hello.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/link/fabric.hpp"
#include "tests/unit/values/value_server.hpp"

namespace tickpath::values {
namespace {

using link::test::Fabric;

constexpr std::uint32_t kWaitMs = 60'000;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A client and its connection. Operations wait.
class Client {
 public:
  Client(rdma::Device& device, const std::string& endpoint, bool writer, wire::Role role)
      : client_(device, "client") {
    wire::Hello hello = wire::make_hello(role, wire::Service::kValues, "client");
    hello.parameters[0] = writer ? 1 : 0;
    connection_ = link::connect_tables(device, endpoint, link::bytes_of(hello), {}, kWaitMs, "mdh")
                      .connection;
    EXPECT_TRUE(client_.attach(*connection_, writer));
  }
  ~Client() { client_.detach(); }

  ValueStatus get(std::string_view key) { return run({ValueOperation::kGet, key, {}, 0}); }
  ValueStatus put(std::string_view key, std::string_view value) {
    return run({ValueOperation::kPut, key, bytes_of(value), 0});
  }
  ValueStatus swap(std::string_view key, std::uint64_t version, std::string_view value) {
    return run({ValueOperation::kSwap, key, bytes_of(value), version});
  }
  ValueStatus remove(std::string_view key, std::uint64_t version = ValueRequest::kAnyVersion) {
    return run({ValueOperation::kRemove, key, {}, version});
  }
  ValueStatus run(const ValueRequest& request) { return client_.run(request, kWaitMs); }
  std::string value() const { return text_of(client_.current().bytes); }
  std::uint64_t version() const { return client_.current().version; }
  std::vector<std::string> keys() {
    std::vector<std::string> all;
    EXPECT_EQ(client_.for_each(kWaitMs, [&](const wire::SharedValue& value,
                                            std::uint64_t) { all.emplace_back(value.key_text()); }),
              ValueStatus::kOk);
    return all;
  }
  ValueClient& bare() { return client_; }
  link::Connection& connection() { return *connection_; }

 private:
  std::unique_ptr<link::Connection> connection_;
  ValueClient client_;
};

// Changes a word of what it was granted, by COMPARE_SWAP from 0 or from what it finds.
class Meddler final : public link::OneSidedClient {
 public:
  Meddler(rdma::Device& device, link::Connection& connection)
      : OneSidedClient(device, kCacheLineBytes, "meddler"), through_(connection) {
    use(connection);
  }
  // Whether the owner's side let it through.
  bool change(const rdma::RemoteRegion& region, std::uint64_t from, std::uint64_t to) {
    rdma::WorkRequest request = read_of(region, sizeof(std::uint64_t));
    request.opcode = rdma::Opcode::kCompareSwap;
    request.compare_add = from;
    request.swap = to;
    answered_ = false;
    EXPECT_EQ(post(request), rdma::PostStatus::kOk);
    EXPECT_TRUE(link::test::eventually([&] {
      through_.poll();
      return answered_;
    }));
    return success_;
  }

 private:
  void on_answer(bool success) noexcept override { answered_ = true, success_ = success; }

  link::Connection& through_;
  bool answered_ = false;
  bool success_ = false;
};

class SharedValues : public testing::Test {
 protected:
  void SetUp() override { open(64, 4); }
  void open(std::uint32_t keys, std::uint32_t writers) {
    server_.reset();
    server_.emplace(*fabric_.device, *fabric_.listener, keys, writers);
  }
  std::unique_ptr<Client> client(bool writer = true, wire::Role role = wire::Role::kTool) {
    return std::make_unique<Client>(*fabric_.device, fabric_.endpoint, writer, role);
  }
  std::string refusal(wire::Role role) {
    const auto error = test_support::thrown<rdma::SetupError>([&] { (void)client(true, role); });
    return error ? error->what() : "it was let in";
  }

  Fabric fabric_{test_support::open_test_device("mdh")};
  std::optional<test::ValueServer> server_;
};

TEST_F(SharedValues, ArePutReadChangedAndRemoved) {
  const auto one = client();
  const auto other = client();
  EXPECT_EQ(one->get("limit"), ValueStatus::kAbsent);
  EXPECT_EQ(one->put("limit", "100"), ValueStatus::kOk);
  EXPECT_EQ(one->version(), 1u);
  EXPECT_EQ(other->get("limit"), ValueStatus::kOk);
  EXPECT_EQ(other->value(), "100");
  EXPECT_EQ(other->version(), 1u);

  EXPECT_EQ(other->swap("limit", 1, "200"), ValueStatus::kOk);
  EXPECT_EQ(one->swap("limit", 1, "300"), ValueStatus::kConflict);
  EXPECT_EQ(one->version(), 2u) << "what it is now";
  EXPECT_EQ(one->value(), "200");
  EXPECT_EQ(one->swap("limit", 0, "300"), ValueStatus::kConflict);

  EXPECT_EQ(one->remove("limit", 1), ValueStatus::kConflict);
  EXPECT_EQ(one->remove("limit"), ValueStatus::kOk);
  EXPECT_EQ(other->get("limit"), ValueStatus::kAbsent);
  EXPECT_EQ(other->remove("limit"), ValueStatus::kAbsent);
  EXPECT_EQ(other->swap("limit", 2, "400"), ValueStatus::kConflict);
  EXPECT_EQ(other->swap("limit", 0, "400"), ValueStatus::kOk);
  EXPECT_EQ(other->version(), 4u) << "no version comes twice";
}

TEST_F(SharedValues, KeysAndValuesHaveTheirBounds) {
  const auto one = client();
  const std::string key(32, 'k');
  const std::string longest(400, 'v');
  EXPECT_EQ(one->put(key, longest), ValueStatus::kOk);
  EXPECT_EQ(one->put(key.substr(1), ""), ValueStatus::kOk);
  EXPECT_EQ(one->get(key), ValueStatus::kOk);
  EXPECT_EQ(one->value(), longest);
  EXPECT_EQ(one->get(key.substr(1)), ValueStatus::kOk);
  EXPECT_EQ(one->value(), "");
  EXPECT_FALSE(one->bare().start({ValueOperation::kPut, key + "k", {}, 0}));
  EXPECT_FALSE(one->bare().start({ValueOperation::kPut, "", {}, 0}));
  EXPECT_FALSE(one->bare().start({ValueOperation::kPut, std::string_view("a\0b", 3), {}, 0}));
  EXPECT_FALSE(one->bare().start({ValueOperation::kPut, "a", bytes_of(longest + "v"), 0}));
}

TEST_F(SharedValues, ThereIsRoomForAsManyKeysAsAskedFor) {
  open(5, 1);
  const auto one = client();
  std::set<std::string> there;
  for (int i = 0; i < 16; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_EQ(one->put(key, std::to_string(i)), ValueStatus::kOk) << i;
    there.insert(key);
  }
  EXPECT_EQ(one->put("one more", "0"), ValueStatus::kFull);
  EXPECT_EQ(one->get("one more"), ValueStatus::kAbsent);
  EXPECT_EQ(one->remove("one more"), ValueStatus::kAbsent);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(one->get("key" + std::to_string(i)), ValueStatus::kOk);
    EXPECT_EQ(one->value(), std::to_string(i));
  }
  EXPECT_EQ(one->put("key7", "changed"), ValueStatus::kOk);
  EXPECT_EQ(one->remove("key8"), ValueStatus::kOk);
  EXPECT_EQ(one->put("one more", "0"), ValueStatus::kFull) << "a place stays its key's";
  there.erase("key8");
  const std::vector<std::string> keys = one->keys();
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()), there);
  EXPECT_EQ(keys.size(), there.size());
}

TEST_F(SharedValues, AReaderTakesNoWritersPlaceAndChangesNothing) {
  open(8, 1);
  const auto writer = client();
  const auto reader = client(false);
  EXPECT_EQ(writer->put("a", "1"), ValueStatus::kOk);
  EXPECT_EQ(reader->get("a"), ValueStatus::kOk);
  EXPECT_EQ(reader->value(), "1");
  EXPECT_FALSE(reader->bare().start({ValueOperation::kPut, "a", bytes_of("2"), 0}));
  EXPECT_EQ(reader->keys(), std::vector<std::string>{"a"});
}

// Atomics are rights of a whole region, and what all go by is in another one.
TEST_F(SharedValues, AWriterCannotChangeWhatAllGoBy) {
  auto writer = client();
  EXPECT_EQ(writer->put("a", "1"), ValueStatus::kOk);
  link::SharedRegions regions;
  ASSERT_TRUE(link::SharedRegions::of(writer->connection().extras(), true, regions));
  {
    Meddler meddler(*fabric_.device, writer->connection());
    EXPECT_FALSE(meddler.change(regions.header, ValuesHeader::kMagic, 0));
  }
  writer.reset();
  const auto other = client();
  EXPECT_EQ(other->get("a"), ValueStatus::kOk);
  EXPECT_EQ(other->value(), "1");
}

TEST_F(SharedValues, AWriterThatIsGoneMakesRoomForAnother) {
  open(8, 1);
  {
    const auto first = client();
    EXPECT_EQ(first->put("a", "1"), ValueStatus::kOk);
    try {
      client();
      ADD_FAILURE() << "there is one lane";
    } catch (const rdma::SetupError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("values.writers"));
    }
  }
  ASSERT_TRUE(test_support::wait_until([&] { return server_->writers() == 0; }));
  const auto second = client();
  EXPECT_EQ(second->get("a"), ValueStatus::kOk) << "what stands in the lane stays";
  // In the lane of the first, whose slot is the one that is read.
  EXPECT_EQ(second->put("a", "2"), ValueStatus::kOk);
  EXPECT_EQ(second->get("a"), ValueStatus::kOk);
  EXPECT_EQ(second->value(), "2");
  EXPECT_EQ(second->version(), 2u);
}

TEST_F(SharedValues, WritersOfOneRoleCannotTakeAllLanes) {
  open(8, 3);
  auto first = client(true, wire::Role::kStrategy);
  const auto second = client(true, wire::Role::kStrategy);
  EXPECT_THAT(refusal(wire::Role::kStrategy),
              testing::HasSubstr("strategy has 2 of 3 writers of shared values already; the last "
                                 "one is kept for another role (values.writers)"));
  auto tool = client();
  EXPECT_EQ(tool->put("a", "1"), ValueStatus::kOk);
  EXPECT_THAT(refusal(wire::Role::kTool), testing::HasSubstr("there are 3 writers"));
  // Beside the tool the other lanes are for whoever comes.
  first.reset();
  ASSERT_TRUE(test_support::wait_until([&] { return server_->writers() == 2; }));
  first = client(true, wire::Role::kStrategy);
  ASSERT_TRUE(test_support::wait_until([&] { return server_->writers() == 3; }));
  tool.reset();
  ASSERT_TRUE(test_support::wait_until([&] { return server_->writers() == 2; }));
  EXPECT_THAT(refusal(wire::Role::kStrategy), testing::HasSubstr("is kept for another role"));
}

// Each adds one to the same number by compare-and-swap; and enters the same keys as the others.
TEST_F(SharedValues, NoChangeIsLostAndNoKeyStandsTwice) {
  constexpr int kClients = 4;
  const int rounds = link::test::over_network() ? 25 : 400;
  constexpr int kKeys = 40;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i)
    clients.push_back(client(true, i % 2 == 0 ? wire::Role::kTool : wire::Role::kStrategy));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] {
      Client& own = *clients[static_cast<std::size_t>(i)];
      for (int key = 0; key < kKeys; ++key)
        wrong += own.put("key" + std::to_string((key + 7 * i) % kKeys), "x") != ValueStatus::kOk;
      for (int round = 0; round < rounds;) {
        const ValueStatus found = own.get("sum");
        wrong += found != ValueStatus::kOk && found != ValueStatus::kAbsent;
        const int sum = found == ValueStatus::kOk ? std::stoi(own.value()) : 0;
        const ValueStatus status = own.swap("sum", own.version(), std::to_string(sum + 1));
        wrong += status != ValueStatus::kOk && status != ValueStatus::kConflict;
        if (status == ValueStatus::kOk) ++round;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
  ASSERT_EQ(clients[0]->get("sum"), ValueStatus::kOk);
  EXPECT_EQ(clients[0]->value(), std::to_string(kClients * rounds));
  EXPECT_EQ(clients[0]->version(), static_cast<std::uint64_t>(kClients) * rounds);
  const std::vector<std::string> keys = clients[0]->keys();
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_EQ(keys.size(), kKeys + 1u);
}

TEST_F(SharedValues, AnEndOfTheOwnerIsToldAndALaterOneBeginsEmpty) {
  auto one = client();
  EXPECT_EQ(one->put("a", "1"), ValueStatus::kOk);
  open(8, 2);
  // Until the end is noticed, what is put is put into memory that goes with its owner.
  ValueStatus status = ValueStatus::kOk;
  EXPECT_TRUE(
      link::test::eventually([&] { return (status = one->put("a", "2")) != ValueStatus::kOk; }));
  EXPECT_THAT(status, testing::AnyOf(ValueStatus::kFailed, ValueStatus::kUnknown));
  const auto anew = client();
  EXPECT_EQ(anew->get("a"), ValueStatus::kAbsent);
}

TEST_F(SharedValues, WhatIsNoMemoryOfThemIsRefused) {
  ValuesHeader header{};
  EXPECT_NE(wrong_with(header), nullptr);
  header.magic = ValuesHeader::kMagic;
  header.version = ValuesHeader::kVersion;
  header.places = 16;
  header.lanes = 1;
  EXPECT_EQ(wrong_with(header), nullptr);
  header.places = 17;
  EXPECT_NE(wrong_with(header), nullptr);
  header.places = 16;
  header.lanes = 9;
  EXPECT_NE(wrong_with(header), nullptr);
}

}  // namespace
}  // namespace tickpath::values
