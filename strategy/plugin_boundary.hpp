// Between the C entry of a plugin and a tickpath::Strategy: included by plugin.hpp, which is what
// plugins include.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <type_traits>

#include "strategy/plugin.hpp"

namespace tickpath {

namespace plugin_boundary {

// What the engine calls `self`: the strategy and the host, so that a failure has its text even when
// the constructor threw.
template <class S>
struct Instance {
  std::unique_ptr<S> strategy;
  const tickpath_host* host;
};

inline void fail(const tickpath_host* host, std::string_view text) noexcept {
  host->fail(host->context, text.data(), text.size());
}

// Runs `body`; an exception becomes TICKPATH_ERROR with its text.
template <class Body>
std::int32_t contain(const tickpath_host* host, Body&& body) noexcept {
  try {
    body();
    return TICKPATH_OK;
  } catch (const std::exception& error) {
    fail(host, error.what());
  } catch (...) {
    fail(host, "threw something that is not a std::exception");
  }
  return TICKPATH_ERROR;
}

template <class S>
struct Boundary {
  using Self = Instance<S>;
  static Self& of(void* self) noexcept { return *static_cast<Self*>(self); }

  static std::int32_t create(const tickpath_host* host, void** self) noexcept {
    return contain(host, [&] {
      auto made = std::make_unique<Self>(Self{std::make_unique<S>(), host});
      base(*made).attach(host);
      *self = made.release();
    });
  }
  static void destroy(void* self) noexcept { delete static_cast<Self*>(self); }

  static std::int32_t start(void* self) noexcept {
    return contain(of(self).host, [&] { base(of(self)).start(); });
  }
  static std::int32_t instrument(void* self, const char* symbol, std::uint32_t id) noexcept {
    return contain(of(self).host, [&] { base(of(self)).instrument(symbol, id); });
  }
  static std::int32_t book_change(void* self, const tickpath_book_change* change) noexcept {
    return contain(of(self).host, [&] { base(of(self)).book_change(*change); });
  }
  static std::int32_t trade(void* self, const tickpath_trade* trade) noexcept {
    return contain(of(self).host, [&] { base(of(self)).trade(*trade); });
  }
  static std::int32_t report(void* self, const tickpath_report* report) noexcept {
    return contain(of(self).host, [&] { base(of(self)).report(*report); });
  }
  static std::int32_t timer(void* self, std::uint64_t timer_id, std::uint64_t cookie) noexcept {
    return contain(of(self).host, [&] { base(of(self)).timer(timer_id, cookie); });
  }
  static std::int32_t feed_state(void* self, std::uint32_t id, std::uint8_t state) noexcept {
    return contain(of(self).host, [&] { base(of(self)).feed_state(id, state); });
  }
  static std::int32_t gateway_state(void* self, std::int32_t up) noexcept {
    return contain(of(self).host, [&] { base(of(self)).gateway_state(up != 0); });
  }
  static std::int32_t stop(void* self) noexcept {
    return contain(of(self).host, [&] { base(of(self)).stop(); });
  }
  static std::int32_t imbalance(void* self, const tickpath_imbalance* update) noexcept {
    return contain(of(self).host, [&] { base(of(self)).imbalance(*update); });
  }

  // Through the base: an override may well be private.
  static Strategy& base(Self& self) noexcept { return *self.strategy; }
};

template <class S>
constexpr tickpath_plugin describe(const char* name, const char* version) noexcept {
  static_assert(std::is_base_of_v<Strategy, S>, "derive from tickpath::Strategy");
  using B = Boundary<S>;
  return {TICKPATH_PLUGIN_ABI_VERSION,
          sizeof(tickpath_plugin),
          sizeof(tickpath_host),
          sizeof(tickpath_book_change),
          sizeof(tickpath_trade),
          sizeof(tickpath_report),
          sizeof(tickpath_depth),
          sizeof(tickpath_position),
          sizeof(tickpath_new_order),
          sizeof(tickpath_imbalance),
          name,
          version,
          B::create,
          B::destroy,
          B::start,
          B::instrument,
          B::book_change,
          B::trade,
          B::report,
          B::timer,
          B::feed_state,
          B::gateway_state,
          B::stop,
          B::imbalance};
}

}  // namespace plugin_boundary

}  // namespace tickpath
