// A mailbox: commands of a pair's control thread to its datapath thread. A command is of a
// moment ago when it is read, so the datapath holds it against the rules once more.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "common/wire/leadership.hpp"

namespace tickpath::oeg {

class PairCommands {
 public:
  // ---- control thread

  // The other one remembers what it was, has renounced, and asks to join. This one leads by the
  // witness's word, or by this alone where none answers. renounced: Succession::renounced().
  void peer_renounced(wire::Leadership renounced) noexcept {
    peer_joins(renounced);
    // Release: pairs with the acquire in peer_has_renounced(). Without it an older word could be
    // read.
    renounced_.store(true, std::memory_order_release);
  }
  // The same, where this one leads and lets the other one in.
  void peer_joins(wire::Leadership renounced) noexcept {
    renounced_by_peer_.store(renounced.word(), std::memory_order_relaxed);
  }
  // The other one says that it leads, and by which word.
  void other_leads(wire::Leadership theirs) noexcept {
    other_leads_.store(theirs.word(), std::memory_order_relaxed);
  }
  // Both wait for a word: this one renounces. Forgotten where a witness decides meanwhile.
  void give_way() noexcept { gives_way_.store(true, std::memory_order_relaxed); }
  // A person's word, where this one waits for a witness's: it leads, in a later epoch than `known`.
  // Forgotten where a witness decides meanwhile.
  void found(wire::Leadership known) noexcept {
    found_over_.store(known.word(), std::memory_order_relaxed);
    // Release: pairs with the acquire in take_heard(). Without it another epoch could be read.
    founds_.store(true, std::memory_order_release);
  }
  // A takeover: the gateway is as the journal says.
  void recovered() noexcept { recovered_.store(true, std::memory_order_release); }
  // A leader with a standby: that one leads as soon as it has everything. Forgotten where the
  // standby is lost before, or where the witness does not answer within 0.3 s.
  void hand_over() noexcept { hand_over_.store(true, std::memory_order_relaxed); }

  // ---- datapath thread

  bool peer_has_renounced() const noexcept { return renounced_.load(std::memory_order_acquire); }
  wire::Leadership renounced_by_peer() const noexcept {
    return wire::Leadership::of_word(renounced_by_peer_.load(std::memory_order_relaxed));
  }
  void forget_renunciation() noexcept { renounced_.store(false, std::memory_order_relaxed); }

  // What the control thread has heard from the other one, or from a person.
  struct Heard {
    bool gives_way;
    wire::Leadership leads;                       // by which the other one does; 0: nothing
    std::optional<wire::Leadership> founds_over;  // a person's word
  };
  // Nothing: nothing new.
  std::optional<Heard> take_heard() noexcept {
    const std::uint64_t leads = other_leads_.load(std::memory_order_relaxed);
    // Acquire: pairs with the release in found().
    const bool founds = founds_.load(std::memory_order_acquire);
    if (leads == 0 && !founds && !gives_way_.load(std::memory_order_relaxed)) [[likely]]
      return std::nullopt;
    other_leads_.store(0, std::memory_order_relaxed);
    founds_.store(false, std::memory_order_relaxed);
    Heard heard{gives_way_.exchange(false, std::memory_order_relaxed),
                wire::Leadership::of_word(leads), std::nullopt};
    if (founds)
      heard.founds_over = wire::Leadership::of_word(found_over_.load(std::memory_order_relaxed));
    return heard;
  }

  // Acquire: pairs with the release in recovered(). Without it this thread could lead with a
  // gateway that is not recovered yet.
  bool has_recovered() const noexcept { return recovered_.load(std::memory_order_acquire); }
  bool hands_over() const noexcept { return hand_over_.load(std::memory_order_relaxed); }
  void forget_hand_over() noexcept { hand_over_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> renounced_{false};
  std::atomic<std::uint64_t> renounced_by_peer_{0};  // a word
  // Relaxed, both: nothing else goes with them, and each is held against the rules once more.
  std::atomic<std::uint64_t> other_leads_{0};  // the word by which it does; 0: nothing was said
  std::atomic<bool> gives_way_{false};
  std::atomic<bool> founds_{false};
  std::atomic<std::uint64_t> found_over_{0};
  std::atomic<bool> recovered_{false};
  std::atomic<bool> hand_over_{false};
};

}  // namespace tickpath::oeg
