// What an mdh writes into a book home: its venue's books, and its part of the consolidated ones.
//
// On the datapath thread, between bursts: dirty instruments are published as fast as operations are
// free, the newest state each time. An instrument is first given its row and claimed; where another
// writer of this venue that lives has claimed it, it is left to that one, and taken when its epoch
// ends. When our own epoch is ended everything begins anew.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/counter.hpp"
#include "common/link/bare_connections.hpp"
#include "common/link/reconnect.hpp"
#include "common/link/remote_line.hpp"
#include "common/link/shared_records.hpp"
#include "common/stores/home/index.hpp"
#include "common/stores/home/lease.hpp"
#include "common/wire/home.hpp"

namespace tickpath::home {

struct HomeWriterOptions {
  std::string endpoint;  // of the home
  std::string name;      // this program's, as the home's owner shows it
  std::uint32_t venue = 0;
  std::uint32_t instruments_max = 16'384;
  link::HeartbeatOptions lease;  // of other writers, as judged here
};

struct HomeWriterCounters {
  TICKPATH_COUNTERS(connections, books,  // books published
                    quotes,              // consolidated books published
                    books_lost,          // another wrote the book meanwhile: claimed anew
                    quotes_lost,         // another venue was first: merged, and tried again
                    claimed,             // instruments, once for each epoch
                    left,                // instruments that another writer of this venue has
                    refused);            // no row, or a symbol over eight characters
};

class HomeWriter {
 public:
  // Control thread. channel: of the datapath that parks, or nullptr. Throws rdma::SetupError.
  HomeWriter(rdma::Device& device, rdma::CompletionChannel* channel, HomeWriterOptions options);

  // ---- control thread, each tick
  // Connects when it is down, without waiting. True: connected just now.
  bool maintain(std::uint64_t now_ns);
  // Empty: it writes.
  std::string not_ready_reason() const;
  // This lane's writer is gone: its connection ended.
  void end_lane(std::uint32_t lane) noexcept { lease_.end_lane(lane); }

  // ---- datapath thread
  // The instrument's name; again with another one: it is that from now on.
  void set_symbol(std::uint32_t id, std::string_view symbol) noexcept;
  // What the home has of it is no longer its latest state.
  void mark(std::uint32_t id) noexcept;
  // Each turn. fill(id, wire::BookImage&): the instrument's state now. now_ns: monotonic.
  template <class Fill>
  void turn(std::uint64_t now_ns, Fill&& fill) noexcept {
    if (!begin_turn(now_ns)) return;
    for (std::uint32_t i = 0; i < kPerTurn && books_.under_way() < kOperations; ++i) {
      const std::uint32_t id = next_dirty();
      if (id == kNobody) break;
      fill(id, image_);
      publish(id);
    }
    publish_quotes();
  }
  // Something is dirty or under way: a thread that sleeps would leave it so.
  bool busy() const noexcept {
    return dirty_.size != 0 || quotes_dirty_.size != 0 || waiting_.size != 0 ||
           searching_ != kNobody || books_.under_way() != 0 || quotes_.under_way() != 0;
  }

  // ---- any thread
  const HomeWriterCounters& counters() const noexcept { return counters_; }
  const LeaseCounters& lease_counters() const noexcept { return lease_.counters(); }
  const Counter& lane() const noexcept { return lane_; }  // plus one; 0: none

 private:
  static constexpr std::uint32_t kNobody = 0xffffffff;
  static constexpr std::uint32_t kOperations = 8;  // under way at once, of each kind
  static constexpr std::uint32_t kPerTurn = 8;     // books, so that a look at the socket is near

  enum class State : std::uint8_t {
    kUnnamed,
    kWaiting,   // to be found
    kOther,     // another writes it
    kLearning,  // what the home has of it is being read
    kReady,
    kRefused,
  };
  struct Instrument {
    std::uint64_t symbol = 0;
    std::uint32_t row = 0;
    State state = State::kUnnamed;
    bool dirty = false;        // in dirty_
    bool quote_dirty = false;  // in quotes_dirty_
    bool book_busy = false;    // a read or publication is under way
    bool quote_busy = false;
    bool book_known = false;
    bool quote_known = false;
    wire::Writer other;  // kOther
    link::SharedGuard book, quote;
    wire::VenueQuote own;  // as it should be
  };
  // A queue of ids; as large as there are instruments, and none is in it twice.
  struct Queue {
    std::vector<std::uint32_t> ids;
    std::size_t head = 0, size = 0;
    void push(std::uint32_t id) noexcept { ids[(head + size++) % ids.size()] = id; }
    std::uint32_t pop() noexcept {
      const std::uint32_t id = ids[head];
      head = (head + 1) % ids.size();
      --size;
      return id;
    }
  };

  bool attempt();
  bool begin_turn(std::uint64_t now_ns) noexcept;
  bool take_connection() noexcept;
  void drop_connection() noexcept;
  bool read_header() noexcept;
  void begin_epoch() noexcept;
  void wait(std::uint32_t id) noexcept;
  void search() noexcept;
  void sweep() noexcept;
  void take_books() noexcept;
  void take_quotes() noexcept;
  void learn(std::uint32_t id) noexcept;
  void learned(std::uint32_t id) noexcept;
  void push_dirty(std::uint32_t id) noexcept;
  std::uint32_t next_dirty() noexcept;
  void publish(std::uint32_t id) noexcept;
  void publish_quotes() noexcept;
  void mark_quote(std::uint32_t id) noexcept;
  std::uint32_t alive_venues(const wire::Consolidated& book) const noexcept;

  HomeWriterOptions options_;
  link::BareConnections connections_;
  link::Reconnect reconnect_;
  link::RemoteLine header_;  // READ once for each connection
  HomeLease lease_;
  HomeIndex index_;
  link::SharedRecords<wire::VenueBook> books_;
  link::SharedRecords<wire::Consolidated> quotes_;

  link::BareConnection* connection_ = nullptr;
  HomeRegions regions_;
  HomeLayout layout_;
  bool ready_ = false;  // the header is there, and it is sound
  wire::Writer self_;   // of the epoch that instruments are in
  std::uint64_t changes_seen_ = 0;
  std::uint32_t sweep_at_ = 0;
  std::uint32_t sweep_left_ = 0;
  std::uint32_t searching_ = kNobody;
  wire::Writer searching_for_;
  std::uint64_t searching_symbol_ = 0;
  std::vector<Instrument> instruments_;
  std::vector<wire::Consolidated> known_quotes_;
  Queue waiting_, dirty_, quotes_dirty_;
  wire::BookImage image_{};
  wire::VenueBook book_{};
  Counter lane_;
  Counter up_;
  Counter wrong_;  // 1 + why this home cannot be used
  HomeWriterCounters counters_;
};

}  // namespace tickpath::home
