// How endpoints pass between the control thread, which makes and destroys them, and the datapath
// thread, which uses them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

template <class T>
class Handover {
 public:
  // capacity: of objects that exist at once, a power of two. last_look is called by the control
  // thread for each object that came back, before it is destroyed.
  explicit Handover(std::size_t capacity, std::function<void(const T&)> last_look = {})
      : capacity_(capacity),
        last_look_(std::move(last_look)),
        to_datapath_(capacity),
        to_control_(capacity) {}

  // ---- control thread

  // Throws rdma::SetupError{kLimit} naming `what` when `capacity` objects exist.
  void require_room(const std::string& what) {
    collect();
    if (owned_.size() >= capacity_)
      throw rdma::SetupError(
          rdma::SetupCause::kLimit,
          what + ": " + std::to_string(owned_.size()) + " connections exist, no more are allowed");
  }
  void give(std::unique_ptr<T> object) {
    T* const raw = object.get();
    owned_.push_back(std::move(object));
    TICKPATH_CHECK(to_datapath_.try_push(raw), "the ring has room for every object");
  }
  void collect() {
    T* done = nullptr;
    while (to_control_.try_pop(done)) {
      if (last_look_) last_look_(*done);
      std::erase_if(owned_,
                    [done](const std::unique_ptr<T>& object) { return object.get() == done; });
    }
  }
  const std::vector<std::unique_ptr<T>>& owned() const noexcept { return owned_; }

  // ---- datapath thread

  // nullptr: nothing new.
  T* take() noexcept {
    T* object = nullptr;
    return to_datapath_.try_pop(object) ? object : nullptr;
  }
  void give_back(T* object) noexcept {
    TICKPATH_CHECK(to_control_.try_push(object), "the ring has room for every object");
  }

 private:
  std::size_t capacity_;
  std::function<void(const T&)> last_look_;
  std::vector<std::unique_ptr<T>> owned_;
  SpscRing<T*> to_datapath_;
  SpscRing<T*> to_control_;
};

}  // namespace tickpath::link
