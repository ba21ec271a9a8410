// A search of every world that can be reached from a first one, step by step. It is breadth first,
// so a counterexample is a shortest one.
//
// Safety is checked in each world. Liveness is checked once all worlds are known: from each of them
// steps that are no fault lead to a world that is live. Where a budget ends the search nothing is
// claimed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tickpath::oeg::model {

// A search that reaches this number proves nothing.
inline constexpr std::size_t kWorldsMax = 3'000'000;

template <class World, class Hash>
class WorldSearch {
 protected:
  WorldSearch() = default;
  ~WorldSearch() = default;

  // Calls visit() or fault() for each step from here.
  virtual void steps(const World& world) = 0;
  // Calls violated() where it must not be like this.
  virtual void check(const World& world) = 0;
  virtual bool is_live(const World& world) const = 0;
  // Removes what no later step looks at. Worlds that differ in nothing else are one.
  virtual void forget(World& world) const = 0;

  void search(const World& first) {
    visit(first, "start");
    while (!queue_.empty() && violation_.empty() && worlds_.size() < kWorldsMax) {
      at_ = queue_.front();
      queue_.pop_front();
      const World world = *worlds_[at_];
      steps(world);
    }
    if (violation_.empty() && queue_.empty()) check_liveness();
  }
  // With the way to it; empty: none.
  const std::string& violation() const noexcept { return violation_; }
  std::size_t worlds() const noexcept { return worlds_.size(); }

  void visit(const World& world, const char* step, int who = 0) { go(world, {step, who}, true); }
  // A fault may happen, but no world may need it to become live.
  void fault(const World& world, const char* step, int who = 0) { go(world, {step, who}, false); }
  // The budget hides what would follow from here.
  void hide() { hidden_.push_back(static_cast<std::uint32_t>(at_)); }
  void violated(const std::string& what) { violated(what, worlds_.size() - 1); }

 private:
  struct How {
    const char* step;
    int who;
  };

  void go(World world, How how, bool counts) {
    forget(world);
    const auto [where, fresh] = seen_.try_emplace(std::move(world), worlds_.size());
    if (counts)
      edges_.emplace_back(static_cast<std::uint32_t>(where->second),
                          static_cast<std::uint32_t>(at_));
    if (!fresh) return;
    worlds_.push_back(&where->first);
    from_.push_back(at_);
    how_.push_back(how);
    queue_.push_back(worlds_.size() - 1);
    check(where->first);
  }
  void violated(const std::string& what, std::size_t at) {
    if (!violation_.empty()) return;
    std::vector<std::string> way;
    for (; at != 0; at = from_[at])
      way.push_back(std::string(how_[at].step) +
                    (how_[at].who == 0 ? "" : " " + std::to_string(how_[at].who)));
    std::reverse(way.begin(), way.end());
    violation_ = what + ":";
    for (const std::string& step : way) violation_ += "\n  " + step;
  }
  // Backwards from every world that is live.
  void check_liveness() {
    std::vector<bool> good(worlds_.size());
    std::vector<std::uint32_t> open = hidden_;
    for (std::uint32_t at = 0; at < worlds_.size(); ++at)
      if (is_live(*worlds_[at])) open.push_back(at);
    std::sort(edges_.begin(), edges_.end());
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      if (good[at]) continue;
      good[at] = true;
      for (auto edge = std::lower_bound(edges_.begin(), edges_.end(), std::pair(at, 0u));
           edge != edges_.end() && edge->first == at; ++edge)
        if (!good[edge->second]) open.push_back(edge->second);
    }
    const auto bad = std::find(good.begin(), good.end(), false);
    if (bad != good.end())
      violated("nobody leads any more", static_cast<std::size_t>(bad - good.begin()));
  }

  std::unordered_map<World, std::size_t, Hash> seen_;
  std::vector<const World*> worlds_;
  std::vector<std::size_t> from_;
  std::vector<How> how_;
  std::deque<std::size_t> queue_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from; without faults
  std::vector<std::uint32_t> hidden_;
  std::size_t at_ = 0;  // whose steps are taken
  std::string violation_;
};

}  // namespace tickpath::oeg::model
