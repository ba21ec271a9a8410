#include "common/net/line_factory.hpp"

namespace tickpath::net {
namespace {

constinit LineFactory* chosen = nullptr;

}  // namespace

void set_line_factory(LineFactory* factory) noexcept { chosen = factory; }
LineFactory* line_factory() noexcept { return chosen; }

}  // namespace tickpath::net
