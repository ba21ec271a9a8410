// What oeg could not book, as a person meets it: `tickpath exceptions` of the built programs.
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Finished exceptions(const PipelineFolder& folder, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{program("tickpath"), "exceptions", "--run-dir",
                                     folder.run_dir()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

// An exchange of a few lines: it lets oeg log on, and then says what it is told to.
class ScriptedExchange {
 public:
  explicit ScriptedExchange(std::uint16_t port) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    address.sin_port = ::htons(port);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
  }
  ~ScriptedExchange() {
    if (session_ >= 0) ::close(session_);
    ::close(listener_);
  }
  ScriptedExchange(const ScriptedExchange&) = delete;
  ScriptedExchange& operator=(const ScriptedExchange&) = delete;

  // False: nobody came, or not with a Logon.
  bool log_on() {
    if (!readable(listener_)) return false;
    session_ = ::accept(listener_, nullptr, nullptr);
    std::string got;
    while (!says(got,
                 "\x01"
                 "35=A\x01") &&
           readable(session_)) {
      char bytes[1024];
      const ssize_t count = ::recv(session_, bytes, sizeof(bytes), 0);
      if (count <= 0) return false;
      got.append(bytes, static_cast<std::size_t>(count));
    }
    say("A", "98=0|108=10|");
    return true;
  }
  // FIX 4.2; '|' stands for the separator.
  void say(const std::string& type, const std::string& body) {
    char now[32];
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::strftime(now, sizeof(now), "%Y%m%d-%H:%M:%S", &parts);
    std::string text = "35=" + type + "|49=SIM|56=TICKPATH|34=" + std::to_string(++sequence_) +
                       "|52=" + now + "|" + body;
    text = "8=FIX.4.2|9=" + std::to_string(text.size()) + "|" + text;
    unsigned sum = 0;
    for (char& c : text) {
      if (c == '|') c = '\x01';
      sum += static_cast<unsigned char>(c);
    }
    char trailer[16];
    std::snprintf(trailer, sizeof(trailer), "10=%03u\x01", sum % 256);
    text += trailer;
    EXPECT_EQ(::send(session_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

 private:
  static bool readable(int descriptor) {
    pollfd wanted{descriptor, POLLIN, 0};
    return ::poll(&wanted, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) == 1;
  }
  int listener_;
  int session_ = -1;
  int sequence_ = 0;
};

std::vector<std::string> oeg_alone(const PipelineFolder& folder) {
  return {program("oeg"), folder.config_dir() + "/oeg.toml", "--run-dir", folder.run_dir()};
}

// Until the list says `what`; the last answer.
Finished list_until(const PipelineFolder& folder, const std::string& what) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Finished list = exceptions(folder);
  while (!says(list.output, what) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    list = exceptions(folder);
  }
  return list;
}

TEST(Exceptions, AreListedWhateverDiesAndClearedOnceByAPersonWithAName) {
  const PipelineFolder folder;
  std::filesystem::create_directories(folder.run_dir());
  ScriptedExchange exchange(folder.order_port());
  {
    Process oeg(oeg_alone(folder), folder.path());
    ASSERT_TRUE(exchange.log_on()) << oeg.output();
    // A fill of an order that oeg never sent.
    exchange.say("8",
                 "37=V1|17=X1|20=0|150=2|39=2|55=ZAAA|54=1|151=0|14=100|6=10|11=4242|32=100|"
                 "31=10.123456|");
    EXPECT_THAT(
        list_until(folder, "unknown_order"),
        Ends(0, "1  unknown_order, ZAAA, no strategy known, message 2", "|32=100|31=10.123456|"));
    oeg.signal(SIGKILL);
    oeg.wait();
  }
  // As if it had died before its control thread came to write the list.
  ASSERT_TRUE(std::filesystem::remove(folder.run_dir() + "/oeg.exceptions"));
  {
    Process oeg(oeg_alone(folder), folder.path());
    const Finished list = list_until(folder, "unknown_order");
    EXPECT_TRUE(says(list.output, "1  unknown_order, ZAAA, no strategy known, message 2"))
        << list.output << oeg.output();
    EXPECT_TRUE(says(list.output, "32=100|31=10.123456")) << list.output;
    EXPECT_NE(exceptions(folder, {"--clear", "1"}).exit_code, 0) << "by nobody";
    EXPECT_THAT(exceptions(folder, {"--clear", "99", "--by", "alice"}),
                Ends(::testing::Ne(0), "no exception 99 is open"));
    EXPECT_THAT(exceptions(folder, {"book", "1", "--by", "alice"}),
                Ends(::testing::Ne(0), "no strategy is known"));
    EXPECT_THAT(exceptions(folder, {"book", "1", "--by", "alice", "--strategy", "3"}),
                Ends(::testing::Ne(0), "oeg knows none of that name"))
        << "without an mdh";
    EXPECT_THAT(exceptions(folder, {"adjust", "--strategy", "3", "--symbol", "ZAAA", "--shares",
                                    "-5", "--price", "free", "--by", "alice"}),
                Ends(::testing::Ne(0), "price: a text"));
    EXPECT_THAT(exceptions(folder, {"--clear", "1", "--by", "alice"}), Ends(0, "1 cleared"));
    EXPECT_TRUE(says(exceptions(folder).output, "no exceptions are open"));
    EXPECT_TRUE(says(read_file(folder.run_dir() + "/oeg.log"), "cleared by alice"));
    oeg.signal(SIGKILL);
    oeg.wait();
  }
  Process oeg(oeg_alone(folder), folder.path());
  const Finished list = list_until(folder, "open");
  EXPECT_TRUE(says(list.output, "no exceptions are open")) << list.output;
  oeg.signal(SIGTERM);
  oeg.wait();
}

// The list is where the configuration says, whatever folder the journal is in.
TEST(Exceptions, AreHeldAgainstAJournalOnAnotherDisk) {
  const PipelineFolder folder;
  std::filesystem::create_directories(folder.run_dir());
  const std::string disk = folder / "disk";
  std::filesystem::create_directories(disk);
  ScriptedExchange exchange(folder.order_port());
  std::vector<std::string> arguments = oeg_alone(folder);
  arguments.insert(arguments.end(), {"--set", "journal.file=" + disk + "/oeg.journal"});
  Process oeg(arguments, folder.path());
  ASSERT_TRUE(exchange.log_on()) << oeg.output();
  exchange.say("8",
               "37=V1|17=X1|20=0|150=2|39=2|55=ZAAA|54=1|151=0|14=100|6=10|11=4242|32=100|31=10|");
  EXPECT_THAT(list_until(folder, "unknown_order"), Ends(0, "1  unknown_order"));
  oeg.signal(SIGTERM);
  oeg.wait();
  const Finished books = run({program("tickpath"), "books", folder.run_dir()});
  EXPECT_TRUE(says(books.output, "open 1, in the journal alone 0")) << books.output;
  EXPECT_FALSE(says(books.output, "in the journal alone 0 is not")) << books.output;
  EXPECT_FALSE(std::filesystem::exists(disk + "/oeg.exceptions")) << "an auditor creates nothing";
}

TEST(Exceptions, HoldTheirSymbolUntilTheyAreCleared) {
  const PipelineFolder folder;
  std::filesystem::create_directories(folder.run_dir());
  // Left by a former run: more than are kept in memory, and behind them one of each symbol that the
  // recording will have.
  constexpr int kOthers = 4'096;
  std::string left;
  for (int i = 0; i < kOthers + 20; ++i) {
    const std::string symbol =
        i < kOthers ? "OTHER" : std::string("ZAA") + static_cast<char>('A' + i - kOthers);
    left += R"({"id":)" + std::to_string(i + 1) +
            R"(,"kind":"shares","strategy":1,"seq":7,"realtime_ns":1,"order_id":0,"symbol":")" +
            symbol + R"(","message":"8=FIX.4.2|"})" + "\n";
  }
  write_file(folder.run_dir() + "/oeg.exceptions", left);
  Process up(folder.up(folder.generate(200'000, 100)), folder.path());
  ASSERT_TRUE(up.wait_for_output("strategy   ready", kPatience)) << up.output();
  ASSERT_TRUE(folder.wait_counter_above("oeg", "refused", "exception", 0)) << folder.logs();
  EXPECT_EQ(folder.counter("oeg", "orders", "sent"), 0u);
  EXPECT_EQ(folder.counter("oeg", "exceptions", "open"), 4'116u);
  const Finished list = exceptions(folder);
  EXPECT_TRUE(says(list.output, "20  shares, OTHER, strategy 1, message 7")) << list.output;
  EXPECT_TRUE(says(list.output, "4096  shares, OTHER"))
      << "it is put together from several answers";
  EXPECT_TRUE(says(list.output, "20 more are in oeg's file")) << list.output;
  const auto ask_oeg = [&](const control::Json& request) {
    return control::admin_command(control::admin_path(folder.run_dir(), "oeg"), request);
  };
  const control::Json some = ask_oeg({{"command", "exceptions"}, {"after", 100}});
  ASSERT_EQ(some.at("open").size(), 256u);
  EXPECT_EQ(some.at("open").front().at("id"), 101);
  EXPECT_TRUE(some.at("more"));
  const control::Json last = ask_oeg({{"command", "exceptions"}, {"after", 4'090}});
  EXPECT_EQ(last.at("open").size(), 6u);
  EXPECT_FALSE(last.at("more"));
  EXPECT_THROW(ask_oeg({{"command", "exceptions"}, {"after", "x"}}), Error);
  EXPECT_THROW(ask_oeg({{"command", "clear_exceptions"},
                        {"by", "alice"},
                        {"ids", std::vector<std::uint64_t>(257, 1)}}),
               Error);
  for (const char* const count : {"4096 cleared", "20 cleared"}) {
    EXPECT_EQ(folder.counter("oeg", "orders", "sent"), 0u);
    EXPECT_THAT(exceptions(folder, {"--clear-all", "--by", "alice"}), Ends(0, count));
  }
  EXPECT_TRUE(folder.wait_counter_above("oeg", "orders", "sent", 0)) << folder.logs();
  EXPECT_EQ(folder.counter("oeg", "exceptions", "open"), 0u);
  (void)control::admin_command(control::admin_path(folder.run_dir(), "sim"), {{"command", "halt"}});
  EXPECT_THAT(up.wait(kPatience), Ends(0));
}

}  // namespace
}  // namespace tickpath::test_support
