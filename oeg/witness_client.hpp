// The word at the pair's witness, as one of the pair sees it. Reads the word, asks for the change
// that the rules want, and reads again now and then. Datapath thread, where nothing else is said.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/counter.hpp"
#include "common/link/bare_connections.hpp"
#include "common/link/remote_word.hpp"
#include "common/log/hot_log.hpp"
#include "common/wire/leadership.hpp"
#include "oeg/pair_status.hpp"
#include "oeg/succession.hpp"

namespace tickpath::oeg {

class WitnessClient {
 public:
  // A renunciation and a hand-over wait so long for a witness that is not connected, or silent:
  // longer than the keeper takes between two tries.
  static constexpr std::uint64_t kAnswersNs = 300'000'000;

  // Control thread. two: there is a second witness, and either may be the one that decides. Throws
  // rdma::SetupError.
  WitnessClient(rdma::Device& device, link::BareConnections& connections, bool two,
                PairStatus& status, log::HotLog& hot_log)
      : connections_(connections),
        hot_log_(hot_log),
        status_(status),
        two_(two),
        word_(device, "oeg.witness") {}

  // ---- any thread
  bool is_there() const noexcept { return there_.get() != 0; }
  // Connections to a witness that the datapath has taken, and whether it uses one.
  std::uint64_t connections_taken() const noexcept { return taken_.get(); }
  bool is_used() const noexcept { return used_.get() != 0; }

  // ---- datapath thread

  // A connection to a witness. The one before is dropped.
  void take(link::BareConnection& connection, std::uint64_t now_ns) noexcept;
  // True: nothing is on its way, and the steps below follow, in this order. What has changed in the
  // rules is to be remembered behind each of them.
  bool poll(std::uint64_t now_ns) noexcept;
  // The word as READ; false: it is not new.
  bool take_word(Succession& rules) noexcept;
  // What came of the last change that was asked for; false: there was none.
  bool take_answer(Succession& rules) noexcept;
  // A leader's word belongs to the witness that is here.
  void enrol(Succession& rules) noexcept;
  // Asks for what the rules want, or READs the word again.
  void ask(const Succession& rules, std::uint64_t now_ns) noexcept;

  // The witness holds that word, as far as we know.
  bool holds(wire::Leadership word) const noexcept { return is_there() && holds_ == word; }
  // This is the witness that decides, about the lead alone: what else is asked for is settled by
  // renunciation. False, too, where it has been waited for since `since_ns` in vain.
  bool may_answer(const Succession& rules, std::uint64_t since_ns,
                  std::uint64_t now_ns) const noexcept;
  // READs the word at the next turn.
  void look_at_once() noexcept { next_look_ns_ = 0; }
  // The last look that was answered had been posted since then.
  bool has_looked_since(std::uint64_t at_ns) const noexcept { return looked_ns_ >= at_ns; }

 private:
  bool may_enrol(const Succession& rules) const noexcept;
  void show(bool there) noexcept;
  void drop() noexcept;

  link::BareConnections& connections_;
  log::HotLog& hot_log_;
  PairStatus& status_;
  const bool two_;
  link::BareConnection* connection_ = nullptr;
  link::RemoteWord word_;
  std::optional<Succession::Change> asked_;
  wire::Leadership holds_;    // as far as we know
  bool read_ = false;         // by this connection
  bool looks_again_ = false;  // the word is on its way once more
  // By this witness, last. Where it is wanted still, the answer has settled nothing.
  std::optional<Succession::Change> answered_;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t look_posted_ns_ = 0;
  std::uint64_t looked_ns_ = 0;  // when the last look that was answered had been posted
  std::uint64_t asked_at_ns_ = 0;
  std::uint64_t idle_ns_ = 0;  // nothing that it was asked was without an answer then
  Counter there_;
  Counter taken_;
  Counter used_;
};

}  // namespace tickpath::oeg
