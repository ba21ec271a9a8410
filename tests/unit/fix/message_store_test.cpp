#include "common/fix/detail/message_store.hpp"

#include "tests/support/folder.hpp"
#include "tests/support/small_disk.hpp"

namespace tickpath::fix::detail {
namespace {

class MessageStoreTest : public ::testing::Test {
 protected:
  static void write(MessageStore& store, std::string_view text) {
    text.copy(store.begin_message(), text.size());
    store.commit(text.size());
  }
  test_support::Folder folder_;
  std::string path_ = folder_ / "store";
};

TEST_F(MessageStoreTest, KeepsNumbersAndMessagesAcrossARestart) {
  {
    MessageStore store(path_, 8, "OEG", "SIM");
    EXPECT_EQ(store.next_sender(), 1u);
    write(store, "one");
    write(store, "two");
    store.set_next_target(9);
  }
  MessageStore store(path_, 8, "OEG", "SIM");
  EXPECT_EQ(store.next_sender(), 3u);
  EXPECT_EQ(store.next_target(), 9u);
  EXPECT_EQ(store.get(1), "one");
  EXPECT_EQ(store.get(2), "two");
  EXPECT_EQ(store.get(3), "");
  EXPECT_EQ(store.get(0), "");
}

TEST_F(MessageStoreTest, AFullDiskIsAnErrorThatSaysWhatToDoAndIsNoErrorOnceThereIsRoom) {
  const auto finished = test_support::on_a_small_disk(64, [](const std::string& folder) {
    for (const std::uint32_t slots : {1024u, 8u}) {
      try {
        MessageStore store(folder + "/oeg.fixstore", slots, "OEG", "SIM");
        write(store, "one");
        std::puts("made");
      } catch (const Error& error) {
        std::puts(error.what());
      }
    }
  });
  if (IsSkipped()) return;
  EXPECT_EQ(finished.signal, 0);
  for (const char* expected : {"kB for FIX store", "lower store_messages", "No space left", "made"})
    EXPECT_NE(finished.output.find(expected), std::string::npos)
        << expected << " in " << finished.output;
}

TEST_F(MessageStoreTest, ForgetsTheOldestWhenItWraps) {
  MessageStore store(path_, 4, "OEG", "SIM");
  for (int i = 1; i <= 6; ++i) write(store, std::string(1, static_cast<char>('0' + i)));
  EXPECT_EQ(store.get(2), "");
  EXPECT_EQ(store.get(3), "3");
  EXPECT_EQ(store.get(6), "6");
}

TEST_F(MessageStoreTest, LosesAMessageThatWasNeverCompleted) {
  MessageStore store(path_, 4, "OEG", "SIM");
  for (int i = 1; i <= 4; ++i) write(store, "x");
  store.begin_message()[0] = 'h';  // dies here: number 5 was not used, number 1 is gone
  EXPECT_EQ(store.get(1), "");
  EXPECT_EQ(store.get(5), "");
  EXPECT_EQ(store.next_sender(), 5u);
}

TEST_F(MessageStoreTest, RefusesAnotherSessionsFileASecondOwnerAndADamagedFile) {
  {
    MessageStore store(path_, 8, "OEG", "SIM");
    EXPECT_THROW(MessageStore(path_, 8, "OEG", "SIM"), Error);
  }
  EXPECT_THROW(MessageStore(path_, 8, "OEG", "OTHER"), Error);
  EXPECT_THROW(MessageStore(path_, 16, "OEG", "SIM"), Error);
  std::FILE* file = std::fopen(path_.c_str(), "r+b");
  std::fputs("garbage!", file);
  std::fclose(file);
  EXPECT_THROW(MessageStore(path_, 8, "OEG", "SIM"), Error);
  EXPECT_THROW(MessageStore("/nonexistent/store", 8, "OEG", "SIM"), SystemError);
}

TEST_F(MessageStoreTest, ForgetsEverythingOnReset) {
  MessageStore store(path_, 8, "OEG", "SIM");
  write(store, "one");
  store.set_next_target(5);
  store.reset();
  EXPECT_EQ(store.next_sender(), 1u);
  EXPECT_EQ(store.next_target(), 1u);
  EXPECT_EQ(store.get(1), "");
}

}  // namespace
}  // namespace tickpath::fix::detail
