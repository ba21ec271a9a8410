// Shared records (common/link/shared_records.hpp) between processes, on one host or on several:
// the memory, those who write and read one record in it, and the judge of what they did.
//
//   shared_records_peer owner ENDPOINT
//   shared_records_peer write|read ENDPOINT ID LINES OPERATIONS FILE    ID: 1 to 255
//   shared_records_peer check FILE.ID...                                exit 1: not linearisable
#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/link/remote_line.hpp"
#include "common/link/shared_owner.hpp"
#include "common/link/shared_records.hpp"
#include "tests/conformance/operation_log.hpp"
#include "tests/support/provider.hpp"
#include "tests/support/shared_row.hpp"

namespace {

using namespace tickpath;

template <std::size_t kLines>
using Row = test_support::SharedRow<kLines * 8>;
using Largest = Row<20>;

// One record of each size: its guard in a line of its own behind that of the tickets, its slots at
// the start of a lane, as no run has more than one size.
constexpr std::size_t kWordsBytes = 2 * kCacheLineBytes;
constexpr std::size_t kGuard = kCacheLineBytes;

[[noreturn]] void own(const std::string& endpoint) {
  const auto device = test_support::open_test_device();
  link::SharedOwner owner(*device, kWordsBytes, link::kLanesMax, link::SharedSize<Largest>::lane(1),
                          "records");
  const auto listener = device->listen(endpoint);
  std::printf("listening at %s\n", endpoint.c_str());
  std::fflush(stdout);
  for (;;) {
    pollfd waiting{listener->file_descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, 10);
    while (const auto request = listener->next()) {
      std::uint32_t lane = 0;
      while (lane < owner.lanes() && !owner.is_free(lane)) ++lane;
      if (lane == owner.lanes())
        request->reject("all lanes are taken");
      else
        owner.start_accept_writer(*request, {}, lane, {});
    }
    owner.collect([](std::uint32_t) {});
  }
}

// The next ticket.
class Tickets final : public link::OneSidedClient {
 public:
  explicit Tickets(rdma::Device& device) : OneSidedClient(device, kCacheLineBytes, "tickets") {}
  void attach(link::Connection& connection, const rdma::RemoteRegion& region) {
    use(connection);
    remote_ = region;
  }
  std::uint64_t next() {
    rdma::WorkRequest request = read_of(remote_, sizeof(std::uint64_t));
    request.opcode = rdma::Opcode::kFetchAdd;
    request.compare_add = 1;
    if (post(request) != rdma::PostStatus::kOk) throw Error("no ticket: the queue is full");
    while (under_way() != 0 && !connection().failed()) {
      connection().poll();
      sched_yield();
    }
    if (connection().failed() || failed_) throw Error("no ticket: the connection has failed");
    return *reinterpret_cast<const std::uint64_t*>(memory());
  }

 private:
  void on_answer(bool success) noexcept override { failed_ |= !success; }
  rdma::RemoteRegion remote_;
  bool failed_ = false;
};

// Unbuffered: what was written is there when the process is killed.
class File {
 public:
  explicit File(const std::string& path)
      : fd_(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644)) {
    if (fd_ < 0) throw SystemError(path, errno);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  template <class... Numbers>
  void line(std::string kind, Numbers... numbers) {
    ((kind += " " + std::to_string(numbers)), ...);
    kind += '\n';
    if (::write(fd_, kind.data(), kind.size()) != static_cast<ssize_t>(kind.size()))
      throw SystemError("writing the log", errno);
  }

 private:
  int fd_;
};

template <class T>
class Client {
 public:
  Client(const std::string& endpoint, std::uint64_t id, const std::string& path)
      : records_(*device_, 1, 1, "records"), file_(path), id_(id) {
    connection_ = std::move(link::connect_tables(*device_, endpoint, {}, {}, 20'000).connection);
    link::SharedRegions regions;
    if (!link::SharedRegions::of(connection_->extras(), true, regions))
      throw Error(endpoint + " grants no shared records");
    tickets_.attach(*connection_, regions.words);
    records_.attach(*connection_, regions.place(kGuard, 0, 1, 1));
  }

  // What is read, or nothing where writers were quicker at each attempt. Throws Error.
  link::SharedResult read() {
    T value{};
    const std::uint64_t begun = tickets_.next();
    if (!records_.read(0, 0)) throw Error("a read cannot be asked for");
    const link::SharedResult seen = await(value);
    const std::uint64_t ended = tickets_.next();
    const std::uint64_t version = seen.guard.version();
    if (seen.status == link::SharedStatus::kOk)
      file_.line("read", begun, ended, version, value.writer,
                 value.whole() && value.version == version ? 1 : 0);
    else if (seen.status == link::SharedStatus::kEmpty)
      file_.line("read", begun, ended, 0, 0, 1);
    return seen;
  }

  void write() {
    const link::SharedResult seen = read();
    if (seen.status == link::SharedStatus::kTorn) return;
    const std::uint64_t version = seen.guard.version() + 1;
    const std::uint64_t begun = tickets_.next();
    file_.line("attempt", begun, version);
    if (!records_.publish(0, seen.guard, T::of(version, id_), 0))
      throw Error("a publication cannot be asked for");
    T nothing;
    const link::SharedResult done = await(nothing);
    const std::uint64_t ended = tickets_.next();
    file_.line(done.status == link::SharedStatus::kOk ? "published" : "lost", begun, ended,
               done.guard.version());
  }

 private:
  link::SharedResult await(T& value) {
    link::SharedResult result;
    while (!records_.take(result, value)) {
      connection_->poll();
      sched_yield();
    }
    if (result.status == link::SharedStatus::kFailed) throw Error("the connection has failed");
    return result;
  }

  std::unique_ptr<rdma::Device> device_ = test_support::open_test_device();
  std::unique_ptr<link::Connection> connection_;
  Tickets tickets_{*device_};
  link::SharedRecords<T> records_;
  File file_;
  std::uint64_t id_;
};

template <class T>
void use(bool writes, const std::string& endpoint, std::uint64_t id, std::uint64_t operations,
         const std::string& path) {
  Client<T> client(endpoint, id, path);
  std::printf("connected\n");
  std::fflush(stdout);
  for (std::uint64_t i = 0; i < operations; ++i) {
    if (writes)
      client.write();
    else
      (void)client.read();
  }
}

int check(std::span<char*> paths) {
  conformance::OperationLog log;
  for (const std::string path : paths) {
    std::ifstream file(path);
    if (!file) throw Error(path + " cannot be read");
    log.add(file, std::stoull(path.substr(path.rfind('.') + 1)), path);
  }
  using Kind = conformance::Operation::Kind;
  std::printf("%zu reads, %zu publications, %zu lost, %zu of unknown outcome\n",
              log.count(Kind::kRead), log.count(Kind::kPublished), log.count(Kind::kLost),
              log.unknown.size());
  if (log.count(Kind::kRead) == 0 || log.count(Kind::kPublished) == 0)
    throw Error("nothing was read, or nothing published: there is nothing to judge");
  const std::vector<std::string> faults = conformance::faults_of(log);
  for (const std::string& fault : faults) std::printf("%s\n", fault.c_str());
  std::printf("%s\n", faults.empty() ? "linearisable" : "NOT linearisable");
  return faults.empty() ? 0 : 1;
}

int run(std::span<char*> arguments) {
  const std::string what = arguments.size() > 1 ? arguments[1] : "";
  if (what == "owner" && arguments.size() == 3) own(arguments[2]);
  if (what == "check" && arguments.size() > 2) return check(arguments.subspan(2));
  if ((what != "write" && what != "read") || arguments.size() != 7) {
    std::fprintf(stderr, "shared_records_peer: see the head of shared_records_main.cpp\n");
    return 2;
  }
  const std::map<std::string, decltype(&use<Row<1>>)> sizes = {
      {"1", &use<Row<1>>}, {"5", &use<Row<5>>}, {"20", &use<Largest>}};
  sizes.at(arguments[4])(what == "write", arguments[2], std::stoull(arguments[3]),
                         std::stoull(arguments[5]), arguments[6]);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv, static_cast<std::size_t>(argc)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shared_records_peer: %s\n", error.what());
    return 1;
  }
}
