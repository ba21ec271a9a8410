#include "tests/bench/placement.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include <sched.h>

#include "common/base/check.hpp"
#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/link/connection.hpp"
#include "common/link/replicated_log.hpp"
#include "common/rdma/ordering.hpp"
#include "oeg/journal_record.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::bench {
namespace {

using Entry = std::array<std::byte, sizeof(oeg::JournalRecord)>;

constexpr std::uint32_t kKind = 1;
constexpr std::size_t kEntryBytes = link::log_entry_bytes(sizeof(Entry));
constexpr std::size_t kRingBytes = 1u << 16;
constexpr std::uint64_t kEntriesOfRing = kRingBytes / kEntryBytes;

// Spins, and lets others have the core when it takes long: a transport whose work is the kernel's
// needs one, and so does the other side where there is but one.
class Spin {
 public:
  void wait() noexcept {
    if (++count_ % kSpins != 0)
      cpu_relax();
    else
      ::sched_yield();
  }

 private:
  static constexpr std::uint32_t kSpins = 256;  // some 10 us, more than any answer in memory takes
  std::uint32_t count_ = 0;
};

template <class Done>
void spin_until(Done&& done) noexcept {
  for (Spin spin; !done();) spin.wait();
}

// WRITEs into what the other side granted, one post at a time.
class RemoteWriter : public link::OneSidedClient {
 public:
  void attach(link::Connection& connection, const rdma::RemoteRegion& region) noexcept {
    use(connection);
    remote_ = region;
  }
  bool completed() noexcept {
    connection().poll();
    return under_way() == 0;
  }

 protected:
  RemoteWriter(rdma::Device& device, std::size_t bytes, const std::string& name)
      : OneSidedClient(device, bytes, name) {}
  ~RemoteWriter() = default;

  // A WRITE of the start of memory() to this offset of what was granted.
  rdma::WorkRequest write_of(std::size_t length, std::size_t offset) const noexcept {
    rdma::WorkRequest request = read_of(remote_, length);
    request.opcode = rdma::Opcode::kWrite;
    request.flags = {};
    request.remote_address += offset;
    return request;
  }
  // A WRITE of a word, copied at posting; signalled.
  rdma::WorkRequest write_of_word(const std::uint64_t& word, std::size_t offset) const noexcept {
    rdma::WorkRequest request = write_of(sizeof(word), offset);
    request.flags = rdma::kInline | rdma::kSignaled;
    request.local_address = &word;
    return request;
  }
  void post_all(std::span<rdma::WorkRequest> requests) noexcept {
    std::size_t posted = 0;
    TICKPATH_CHECK(post(requests, posted) == rdma::PostStatus::kOk,
                   "the queue is deep enough, the other side there until the end");
  }

 private:
  void on_answer(bool success) noexcept final {
    TICKPATH_CHECK(success, "the other side is there until the end");
  }

  rdma::RemoteRegion remote_;
};

// Entries of a ReplicatedLog, as LogReplicator posts them but without the READ. Instead of
// following what was taken it begins at the front again where the ring ends, as the log does that
// its standby clears there.
class WriteOnly final : public RemoteWriter {
 public:
  explicit WriteOnly(rdma::Device& device)
      : RemoteWriter(device, kEntryBytes, "bench.write_only") {}

  // One doorbell: WRITE of the entry, signalled WRITE of the tail.
  void post_entry(const Entry& entry) noexcept {
    const std::uint64_t place = count_++ % kEntriesOfRing;
    const link::LogEntryHeader header{sizeof(Entry), kKind, place + 1};
    std::memcpy(memory(), &header, sizeof(header));
    std::memcpy(memory() + sizeof(header), entry.data(), entry.size());
    const std::uint64_t tail = (place + 1) * kEntryBytes;
    std::array requests{write_of(kEntryBytes, sizeof(link::LogHeader) + place * kEntryBytes),
                        write_of_word(tail, offsetof(link::LogHeader, writer))};
    post_all(requests);
  }

 private:
  std::uint64_t count_ = 0;
};

// The standby's word of what it has taken, by WRITE into the writer's memory.
class Acknowledger final : public RemoteWriter {
 public:
  explicit Acknowledger(rdma::Device& device)
      : RemoteWriter(device, sizeof(std::uint64_t), "bench.acknowledger") {}

  void acknowledge(std::uint64_t count) noexcept {
    std::array requests{write_of_word(count, 0)};
    post_all(requests);
  }
};

// What the two threads share beside the fabric.
struct Shared {
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> line{0};  // tossed: the floor
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> done{0};  // the standby's steps
};

struct Ends {
  std::unique_ptr<link::Connection> writer;
  std::unique_ptr<link::Connection> standby;
};

// The standby connects, and grants its logs; the writer grants the word for acknowledgements.
Ends connect(rdma::Device& device, const std::string& endpoint,
             std::span<const rdma::Grant> standby_grants, const rdma::Grant& writer_grant) {
  const auto listener = device.listen(endpoint);
  auto connecting = std::async(std::launch::async, [&] {
    return link::connect_tables(device, listener->endpoint(), {}, standby_grants, 10'000)
        .connection;
  });
  Ends ends;
  while (ends.writer == nullptr) {
    using std::chrono::milliseconds;
    if (const auto request = listener->next())
      ends.writer = link::accept_tables(device, *request, {}, {&writer_grant, 1});
    else if (connecting.wait_for(milliseconds(1)) == std::future_status::ready)
      break;  // it has thrown
  }
  ends.standby = connecting.get();
  return ends;
}

// Both sides go through the same steps in the same order, and neither begins one before the other
// has ended the last: so each measures nothing but itself.
class Placement {
 public:
  explicit Placement(const PlacementOptions& options)
      : rounds_(options.rounds),
        standby_cpu_(options.standby_cpu),
        device_(rdma::open_device(options.device)),
        written_(*device_, kRingBytes, "bench.log"),
        replicated_(*device_, kRingBytes, "bench.replicated_log"),
        word_(device_->allocate(sizeof(std::uint64_t), rdma::kLocalWrite | rdma::kRemoteWrite,
                                "bench.word")),
        write_only_(*device_),
        replicator_(*device_, kRingBytes, "bench.replicator"),
        acknowledger_(*device_) {
    const std::array grants{written_.grant(), replicated_.grant()};
    ends_ = connect(*device_, options.endpoint, grants, {word_.get(), rdma::kRemoteWrite});
    write_only_.attach(*ends_.writer, ends_.writer->extras()[0]);
    if (!replicator_.attach(*ends_.writer, ends_.writer->extras()[1]))
      throw Error("what the standby granted is no log");
    acknowledger_.attach(*ends_.standby, ends_.standby->extras()[0]);
  }

  void run() {
    std::thread standby([&] {
      if (standby_cpu_ >= 0) pin_this_thread(standby_cpu_);
      stand_by();
    });
    for (round_ = 1; round_ <= rounds_ + kWarmUp; ++round_) {
      if (round_ == kWarmUp + 1)
        for (Samples* each : {&floor_, &write_, &read_, &acknowledged_}) each->clear();
      measure(floor_, [&] { toss(); });
      measure(write_, [&] { write(); });
      measure(read_, [&] { write_and_read(); });
      measure(acknowledged_, [&] { write_until_acknowledged(); });
    }
    standby.join();
  }

  void print() const {
    const rdma::DeviceInfo& info = device_->info();
    std::printf("\nwhat proves that an entry of %zu bytes stands at the standby: %s, %s\n",
                sizeof(Entry), info.provider.c_str(), info.name.c_str());
    floor_.print("a cache line, there and back", "the floor");
    write_.print("WRITE's completion", "no proof on every transport");
    read_.print("WRITE, and READ behind it", "one doorbell: LogReplicator");
    acknowledged_.print("the standby's own WRITE back", "once its poll() has taken the entry");
    print_ratio("WRITE's completion / floor", write_.median_ns() / floor_.median_ns());
    print_ratio("WRITE and READ / floor", read_.median_ns() / floor_.median_ns());
    print_ratio("acknowledgement / floor", acknowledged_.median_ns() / floor_.median_ns());
    print_ratio("acknowledgement / WRITE and READ", acknowledged_.median_ns() / read_.median_ns());
  }

 private:
  static constexpr std::uint32_t kWarmUp = 20;

  template <class Step>
  void measure(Samples& samples, Step&& step) {
    const TscTicks begin = tsc_now();
    step();
    samples.add((tsc_now() - begin).value);
    ++step_;
    // Acquire: pairs with stand_by()'s release; the next step finds both sides at rest.
    spin_until([&] { return shared_.done.load(std::memory_order_acquire) == step_; });
    spin_until([&] { return write_only_.completed(); });
  }

  // ---- the writer's steps

  void toss() noexcept {
    // Release and acquire: with stand_by()'s acquire and release of the same word.
    shared_.line.store(2 * round_ + 1, std::memory_order_release);
    spin_until([&] { return shared_.line.load(std::memory_order_acquire) == 2 * round_ + 2; });
  }
  void write() {
    write_only_.post_entry(entry_);
    spin_until([&] { return write_only_.completed(); });
  }
  void write_and_read() {
    (void)replicator_.append(kKind, entry_);
    spin_until([&] {
      (void)replicator_.flush();
      ends_.writer->poll();
      return replicator_.all_confirmed();
    });
    TICKPATH_CHECK(replicator_.state() == link::LogReplicator::State::kReplicating,
                   "the standby is there until the end");
  }
  void write_until_acknowledged() {
    write_only_.post_entry(entry_);
    const auto& word = *reinterpret_cast<const std::uint64_t*>(word_->data());
    spin_until([&] { return rdma::load_placed(word) == round_; });
  }

  // ---- the standby's

  void stand_by() noexcept {
    std::uint64_t written = 0;
    const auto take = [](link::ReplicatedLog& log) {
      spin_until([&] { return log.poll([](std::uint32_t, std::span<const std::byte>) {}) != 0; });
    };
    std::uint64_t step = 0;
    const auto done = [&] {
      if (written == kEntriesOfRing) {
        written_.clear();
        written = 0;
      }
      shared_.done.store(++step, std::memory_order_release);
    };
    for (std::uint64_t round = 1; round <= rounds_ + kWarmUp; ++round) {
      spin_until([&] { return shared_.line.load(std::memory_order_acquire) == 2 * round + 1; });
      shared_.line.store(2 * round + 2, std::memory_order_release);
      done();
      take(written_);
      ++written;
      done();
      take(replicated_);
      done();
      take(written_);
      ++written;
      acknowledger_.acknowledge(round);
      spin_until([&] { return acknowledger_.completed(); });
      done();
    }
  }

  const std::uint32_t rounds_;
  const int standby_cpu_;
  std::unique_ptr<rdma::Device> device_;
  link::ReplicatedLog written_;  // by WriteOnly
  link::ReplicatedLog replicated_;
  std::unique_ptr<rdma::MemoryRegion> word_;
  WriteOnly write_only_;
  link::LogReplicator replicator_;
  Acknowledger acknowledger_;
  Ends ends_;
  Shared shared_;
  Entry entry_{};
  std::uint64_t round_ = 0;
  std::uint64_t step_ = 0;
  Samples floor_{rounds_ + kWarmUp};
  Samples write_{rounds_ + kWarmUp};
  Samples read_{rounds_ + kWarmUp};
  Samples acknowledged_{rounds_ + kWarmUp};
};

}  // namespace

void print_placement(const PlacementOptions& options) {
  Placement placement(options);
  placement.run();
  placement.print();
}

}  // namespace tickpath::bench
