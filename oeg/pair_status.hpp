// What one of a pair shows of itself. The datapath thread writes it, any thread reads it.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/counter.hpp"
#include "common/wire/leadership.hpp"
#include "oeg/succession.hpp"

namespace tickpath::oeg {

enum class PairStage : std::uint8_t {
  kFollowing,   // standby
  kTakingOver,  // it may lead; the control thread recovers
  kLeading,     // or blocked until the witness says so
  kRetired,     // another one leads: this process has to start anew, and join
};

class PairStatus {
 public:
  // A word is awaited for so long before the other one is asked who leads: longer than a witness
  // that is there needs to answer.
  static constexpr std::uint64_t kWaitsNs = 500'000'000;

  PairStatus(std::uint8_t place, PairStage stage) noexcept : place_(place), stage_(stage) {}

  // ---- any thread
  // Acquire: pairs with the release in enter().
  PairStage stage() const noexcept { return stage_.load(std::memory_order_acquire); }
  bool blocked() const noexcept { return blocked_.get() != 0; }
  wire::Leadership word() const noexcept { return wire::Leadership::of_word(word_.get()); }
  // This one has what the leader has, and may ask for its place.
  bool stands_by() const noexcept { return stands_by_.get() != 0; }
  bool has_standby() const noexcept { return standby_.get() != 0; }
  // By its word this one needs nobody, and may have acted without the other one's knowledge.
  bool acts_alone() const noexcept { return word().alone && !has_standby(); }
  bool books_may_be_cut() const noexcept { return books_may_be_cut_.get() != 0; }
  // This one waits for a witness that may be gone for good, with the word that the other one leads
  // by. Nor does a later life of the witness decide, or an answer that leaves it as it was.
  bool waits_for_word() const noexcept { return waits_.get() != 0 && served_.get() == 0; }
  // This one waits for a word, and has all that its leader had.
  bool waits_whole() const noexcept {
    return waits_for_word() && !acts_alone() && !books_may_be_cut();
  }
  // Both wait for a word: whether this one is to give way (Succession::gives_way()). One that led
  // alone has acted since, and does not.
  bool gives_way_to(bool their_books_may_be_cut) const noexcept {
    const bool cut = books_may_be_cut();
    return (cut || !acts_alone()) && Succession::gives_way(place_, cut, their_books_may_be_cut);
  }

  // ---- control thread
  // A witness that is there would have answered by now, or the witness has named the other one. The
  // other one is asked then.
  bool waits_in_vain(std::uint64_t now_ns) noexcept;

  // ---- datapath thread
  void show(const Succession& rules) noexcept;
  // A life of the witness decides for this one, once it answers.
  void show_served(bool served) noexcept { served_.set(served ? 1 : 0); }
  // Release: the control thread reads the journal and the store that this thread has written.
  void enter(PairStage stage) noexcept { stage_.store(stage, std::memory_order_release); }

 private:
  const std::uint8_t place_;
  std::atomic<PairStage> stage_;
  Counter word_;
  Counter blocked_;
  Counter waits_;
  Counter books_may_be_cut_;
  Counter other_came_first_;
  Counter stands_by_;
  Counter standby_;
  Counter served_;
  std::uint64_t waits_since_ns_ = 0;  // the control thread's: for a word; 0: it does not
};

}  // namespace tickpath::oeg
