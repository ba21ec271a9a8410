// Records that several write (common/link/shared_records.hpp), as large as a book of ten levels in
// a book home: a read beside a bare READ of as many lines, a publication, what several writers and
// many readers cost each other. All over the shm provider, one process, a thread on each of two
// CPUs at most: more readers are more connections of one thread, so that what is seen is what they
// do to memory and not who gets a CPU.
#include "common/link/shared_records.hpp"

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "common/base/cpu.hpp"
#include "common/wire/home.hpp"
#include "tests/bench/one_host.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace tickpath;
using Book = wire::VenueBook;
using Records = link::SharedRecords<Book>;

constexpr std::size_t kBooks = 4'096;
constexpr rdma::AccessFlags kGuardRights = rdma::kRemoteRead | rdma::kRemoteAtomic;

// Books in turn with a stride, so that no line is in the cache because of the READ before it.
std::size_t at(std::uint64_t number) { return number * 37 % kBooks; }

struct Client {
  bench::Ends ends;
  std::unique_ptr<Records> records;
  std::vector<link::SharedGuard> guards = std::vector<link::SharedGuard>(kBooks);

  link::SharedResult wait(Book& value) noexcept {
    link::SharedResult result;
    do ends.there->poll();
    while (!records->take(result, value));
    return result;
  }
  link::SharedResult read(std::size_t book, Book& value) noexcept {
    TICKPATH_CHECK(records->read(book, 0), "one at a time");
    return wait(value);
  }
  // Until it is ours.
  void write(std::size_t book, Book& value) noexcept {
    for (;;) {
      TICKPATH_CHECK(records->publish(book, guards[book], value, 0), "one at a time");
      Book other;
      const link::SharedResult result = wait(other);
      guards[book] = result.guard;
      if (result.status == link::SharedStatus::kOk) return;
      guards[book] = read(book, other).guard;
    }
  }
};

// The owner's memory.
struct Home {
  Home() {
    guards =
        device->allocate(Records::Size::guards(kBooks), rdma::kLocalWrite | kGuardRights, "guards");
    for (int lane = 0; lane < 4; ++lane)
      lanes.push_back(device->allocate(Records::Size::lane(kBooks),
                                       rdma::kLocalWrite | rdma::kRemoteRead | rdma::kRemoteWrite,
                                       "lane"));
  }
  // own: the lane to write in; kLanesMax: none.
  std::unique_ptr<Client> client(std::uint32_t own) {
    std::vector<rdma::Grant> grants{{guards.get(), kGuardRights}};
    for (const auto& lane : lanes) grants.push_back({lane.get(), rdma::kRemoteRead});
    if (own < link::kLanesMax) grants.push_back({lanes[own].get(), rdma::kRemoteWrite});
    auto made = std::make_unique<Client>();
    made->ends = bench::connect_ends(*device, grants);
    const auto extras = made->ends.there->extras();
    link::SharedPlace place;
    place.guards = extras[0];
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) place.lanes[lane] = extras[1 + lane];
    place.own = own;
    if (own < link::kLanesMax) place.own_lane = extras.back();
    place.records = place.lane_records = kBooks;
    made->records = std::make_unique<Records>(*device, kBooks, 1, "client");
    made->records->attach(*made->ends.there, place);
    Book value;
    if (own < link::kLanesMax)
      for (std::size_t book = 0; book < kBooks; ++book)
        made->guards[book] = made->read(book, value).guard;
    return made;
  }
  std::unique_ptr<rdma::Device> device = rdma::open_device("shm", "");
  std::unique_ptr<rdma::MemoryRegion> guards;
  std::vector<std::unique_ptr<rdma::MemoryRegion>> lanes;
};

template <class Once>
double measure(const std::string& label, std::uint64_t count, Once&& once) {
  bench::Samples samples(count);
  for (std::uint64_t number = 0; number < count; ++number) {
    const TscTicks start = tsc_now();
    once(number);
    samples.add((tsc_now() - start).value);
  }
  samples.print(label, "");
  return samples.median_ns();
}

// Runs `work` beside, on the last CPU, while `measured` runs here.
template <class Work, class Measured>
double beside(Work&& work, Measured&& measured) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    pin_this_thread(allowed_cpus().back());
    while (!stop.load(std::memory_order_relaxed)) work();
  });
  const double result = measured();
  stop = true;
  other.join();
  return result;
}

double write_all(Client& writer, const std::string& label, std::uint64_t count) {
  Book value{};
  return measure(label, count, [&](std::uint64_t number) {
    value.written_realtime_ns = number;
    writer.write(at(number), value);
  });
}

void with_readers(Home& home, Client& writer, std::uint64_t count, double alone) {
  std::vector<std::unique_ptr<Client>> readers;
  for (const std::size_t wanted : {1u, 4u, 16u}) {
    while (readers.size() < wanted) readers.push_back(home.client(link::kLanesMax));
    std::uint64_t number = 0;
    Book value;
    const std::string label = std::to_string(wanted) + " reader" + (wanted == 1 ? "" : "s");
    const double ns = beside(
        [&] {
          for (const auto& reader : readers) (void)reader->read(at(number += 11), value);
        },
        [&] { return write_all(writer, "publication, " + label + " beside", count); });
    bench::print_ratio("publication, " + label + " / none", ns / alone);
  }
}

void with_writers(Home& home, std::uint64_t count, double alone) {
  std::vector<std::unique_ptr<Client>> writers;
  for (std::uint32_t lane = 0; lane < 4; ++lane) writers.push_back(home.client(lane));
  for (const std::size_t others : {1u, 3u}) {
    std::uint64_t number = 0;
    Book value{};
    const std::string label = std::to_string(others + 1) + " writers";
    const double ns = beside(
        [&] {
          for (std::size_t i = 1; i <= others; ++i) writers[i]->write(at(number += 11), value);
        },
        [&] { return write_all(*writers[0], "publication, one of " + label, count); });
    bench::print_ratio("publication, one of " + label + " / alone", ns / alone);
  }
}

int run(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  bench::print_environment("shared records: shm provider, one process, books of five lines");
  pin_this_thread(allowed_cpus().front());
  const std::uint64_t count = quick ? 2'000 : 500'000;
  Home home;
  const auto writer = home.client(0);
  const auto reader = home.client(link::kLanesMax);
  bench::BareReader bare(*home.device, Records::Size::kSlotBytes);
  bare.attach(*reader->ends.there, reader->ends.there->extras()[1]);
  double published = write_all(*writer, "publication", count);
  double floor = 1e9, read = 1e9;
  Book value;
  for (int round = 0; round < (quick ? 1 : 5); ++round) {
    floor = std::min(floor, measure("bare READ, 320 bytes", count, [&](std::uint64_t number) {
                       bare.read(at(number) * 2 * Records::Size::kSlotBytes);
                     }));
    read =
        std::min(read, measure("read of a book", count, [&](std::uint64_t number) {
                   TICKPATH_CHECK(reader->read(at(number), value).status == link::SharedStatus::kOk,
                                  "it is there");
                 }));
    published = std::min(published, write_all(*writer, "publication", count));
  }
  bench::print_ratio("read of a book / bare READ", read / floor, 1.3);
  with_readers(home, *writer, count, published);
  with_writers(home, count, published);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(run, argc, argv); }
