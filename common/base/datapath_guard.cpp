#include "common/base/datapath_guard.hpp"

namespace tickpath {
namespace {
// initial-exec: no lazy TLS allocation, so that a malloc hook can read it.
[[gnu::tls_model("initial-exec")]] thread_local DatapathState state = DatapathState::kOutside;
}  // namespace

void (*datapath_watcher)() noexcept = nullptr;

DatapathState datapath_state() noexcept { return state; }
void set_datapath_state(DatapathState next) noexcept { state = next; }

}  // namespace tickpath
