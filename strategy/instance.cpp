#include "strategy/instance.hpp"

#include <cstring>
#include <set>
#include <utility>

namespace tickpath::strategy {
namespace {

// A crash handler or another thread may read it after the instance is gone: it is never freed. One
// text is kept once, however many engines are made.
const char* kept_text(const std::string& text) {
  static std::set<std::string>& texts = *new std::set<std::string>;
  return texts.insert(text).first->c_str();
}

}  // namespace

Instance::Instance(Engine& engine_, std::uint32_t index_, std::uint8_t id_, std::string name_,
                   const tickpath_plugin& plugin_, ParameterReader parameters_,
                   std::size_t orders_max, std::uint32_t listings, std::size_t stacks)
    : engine(engine_),
      index(index_),
      id(id_),
      name(std::move(name_)),
      plugin(plugin_),
      parameters(std::move(parameters_)),
      orders(orders_max),
      positions(listings),
      gateways(stacks) {
  fill_host(*this, listings);
  for (std::size_t i = 0; i < callback_texts.size(); ++i)
    callback_texts[i] = kept_text("plugin " + name + " (strategy " + std::to_string(id) + ") in " +
                                  kCallbackNames[i]);
}

Instance::~Instance() {
  if (self == nullptr) return;
  try {
    plugin.destroy(self);
  } catch (...) {
    // Nothing is left to contain: the instance is gone either way.
    self = nullptr;
  }
}

void Instance::set_failure(std::string_view text) noexcept {
  failure_length = text.size() < sizeof(failure) ? text.size() : sizeof(failure);
  std::memcpy(failure, text.data(), failure_length);
}

}  // namespace tickpath::strategy
