// The witness of a pair over the real fabric; the two oegs are played by hand in this process.
#include "risk/witness.hpp"

#include <gmock/gmock.h>

#include "common/link/remote_word.hpp"
#include "common/wire/hello.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::risk {
namespace {

using link::RemoteWord;
using link::test::eventually;
using wire::Leadership;
using wire::Role;
using wire::Service;

class WitnessOfAPair : public ::testing::Test {
 protected:
  using Life = std::unique_ptr<Witness>;

  Life begin() { return std::make_unique<Witness>(*device, endpoint, "risk", file); }
  // Connects as that role for that service; the witness serves meanwhile.
  link::TableConnection ask(Role role, Service service, std::uint64_t pair = 0) {
    link::TableConnection made;
    std::exception_ptr refused;
    std::atomic<bool> over{false};
    std::thread peer([&] {
      try {
        wire::Hello hello = wire::make_hello(role, service, "peer");
        hello.parameters[0] = pair;
        made = link::connect_tables(*device, endpoint, link::bytes_of(hello));
      } catch (...) {
        refused = std::current_exception();
      }
      over.store(true);
    });
    EXPECT_TRUE(eventually([&] {
      witness->serve();
      witness->collect();
      return over.load();
    }));
    peer.join();
    if (refused) std::rethrow_exception(refused);
    return made;
  }
  // What stands at the witness, by a word that is attached to it.
  struct Peer {
    Peer(WitnessOfAPair& test, link::TableConnection made)
        : connection(std::move(made.connection)) {
      word = std::make_unique<RemoteWord>(*test.device, "word");
      word->attach(*connection, connection->extras()[wire::WitnessGrants::kBlock]);
      EXPECT_TRUE(idle());
    }
    ~Peer() { word->detach(); }
    bool idle() {
      return eventually([&] {
        connection->poll();
        return word->state() == RemoteWord::State::kIdle;
      });
    }
    // What the word was before.
    Leadership swap(Leadership expected, Leadership desired) {
      EXPECT_TRUE(word->compare_swap(expected.word(), desired.word()));
      EXPECT_TRUE(idle());
      return Leadership::of_word(word->value());
    }
    std::unique_ptr<link::Connection> connection;
    std::unique_ptr<RemoteWord> word;
  };
  Peer oeg() { return Peer(*this, ask(Role::kOeg, Service::kWitness)); }

  std::unique_ptr<rdma::Device> device = link::test::open_test_device();
  std::string endpoint = link::test::fresh_endpoint();
  test_support::Folder folder;
  std::string file = folder / "risk.witness";
  Life witness = begin();
};

TEST_F(WitnessOfAPair, LetsOneOfTwoThatAskForTheSamePlaceHaveIt) {
  EXPECT_EQ(witness->leadership(), Leadership{});
  Peer first = oeg();
  Peer second = oeg();
  EXPECT_EQ(first.word->value(), 0u);
  EXPECT_EQ(first.swap({}, {1, 1, true}), Leadership{});
  EXPECT_EQ(second.swap({}, {1, 2, true}), (Leadership{1, 1, true})) << "it came second";
  EXPECT_EQ(witness->leadership(), (Leadership{1, 1, true}));
  EXPECT_EQ(second.swap({1, 1, true}, {2, 2, true}), (Leadership{1, 1, true}));
  EXPECT_EQ(witness->leadership(), (Leadership{2, 2, true}));
  ASSERT_TRUE(first.word->read());
  ASSERT_TRUE(first.idle());
  EXPECT_EQ(first.word->value(), (Leadership{2, 2, true}).word());
}

TEST_F(WitnessOfAPair, IsKnownAsAnotherAfterARestartWithTheWordThatItHad) {
  std::uint64_t before = 0;
  {
    Peer peer = oeg();
    before = peer.word->second();
    EXPECT_NE(before, 0u);
    EXPECT_EQ(before, witness->incarnation());
    peer.swap({}, {1, 1, true});
  }
  witness.reset();
  witness = begin();
  Peer peer = oeg();
  EXPECT_EQ(Leadership::of_word(peer.word->value()), (Leadership{1, 1, true}));
  EXPECT_NE(peer.word->second(), 0u);
  EXPECT_NE(peer.word->second(), before);
}

TEST_F(WitnessOfAPair, HasTheWordOnTheDiskAfterATickAndNotAtItsEndAlone) {
  Peer peer = oeg();
  peer.swap({}, {7, 2, true});
  witness->collect();
  std::filesystem::copy(file, folder / "copy");
  const Witness later(*device, link::test::fresh_endpoint(), "risk", folder / "copy");
  EXPECT_EQ(later.leadership(), (Leadership{7, 2, true}));
}

TEST_F(WitnessOfAPair, DoesNotBeginWithAFileThatIsNoWord) {
  std::ofstream(folder / "other") << "something else";
  const std::string error = test_support::error_of<Error>(
      [&] { Witness(*device, link::test::fresh_endpoint(), "risk", folder / "other"); });
  EXPECT_THAT(error, ::testing::HasSubstr("other is not the word of a witness. Move it away"));
}

TEST_F(WitnessOfAPair, RefusesEveryoneButOeg) {
  for (const Role role : {Role::kMdh, Role::kStrategy, Role::kRisk, Role::kSim, Role::kTool}) {
    const auto error =
        test_support::thrown<rdma::SetupError>([&] { (void)ask(role, Service::kWitness); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->what(), ::testing::HasSubstr("has no right to service witness of risk"));
  }
  const auto error =
      test_support::thrown<rdma::SetupError>([&] { (void)ask(Role::kOeg, Service::kDropCopy); });
  ASSERT_TRUE(error) << "risk offers nothing else";
  EXPECT_EQ(witness->peers(), 0u);
}

TEST_F(WitnessOfAPair, KeepsTheWordOfOnePairAlsoAfterARestart) {
  (void)ask(Role::kOeg, Service::kWitness, 11);
  (void)ask(Role::kOeg, Service::kWitness, 11);
  for (int life = 0; life < 2; ++life) {
    const auto error = test_support::thrown<rdma::SetupError>(
        [&] { (void)ask(Role::kOeg, Service::kWitness, 12); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->what(), ::testing::HasSubstr("of another pair than the one whose word"));
    witness.reset();
    witness = begin();
  }
}

TEST_F(WitnessOfAPair, BeginsWithAFileOfBeforePairsWereKeptInIt) {
  const std::uint64_t word = Leadership{5, 2, true}.word();
  std::ofstream(folder / "former", std::ios::binary)
      << std::string("tkword1\0", 8)
      << std::string(reinterpret_cast<const char*>(&word), sizeof(word));
  const Witness former(*device, link::test::fresh_endpoint(), "risk", folder / "former");
  EXPECT_EQ(former.leadership(), (Leadership{5, 2, true}));
}

TEST_F(WitnessOfAPair, GrantsNoRightToWrite) {
  link::TableConnection peer = ask(Role::kOeg, Service::kWitness);
  const rdma::RemoteRegion block = peer.connection->extras()[wire::WitnessGrants::kBlock];
  EXPECT_EQ(block.length_bytes, sizeof(wire::WitnessBlock));
  EXPECT_EQ(block.access, rdma::kRemoteRead | rdma::kRemoteAtomic);
}

}  // namespace
}  // namespace tickpath::risk
