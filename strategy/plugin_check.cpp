#include "strategy/plugin_check.hpp"

#include "common/control/feed_endpoints.hpp"
#include "strategy/engine.hpp"
#include "strategy/plugin_file.hpp"

namespace tickpath::strategy {
namespace {

// Nothing is sent and nothing is known before trading starts, and it never does.
class NoOrders final : public OrderPort {
 public:
  bool send(const wire::OrderRequest&) noexcept override { return false; }
};

class NoImages final : public ImageSource {
 public:
  bool image(std::uint32_t, wire::BookImage&) noexcept override { return false; }
};

}  // namespace

std::vector<std::string> check_plugins(const StrategyConfig& config) {
  std::vector<std::string> problems;
  NoOrders orders;
  NoImages images;
  trace::TraceWriter trace{trace::TraceOptions{}};
  LogRing log{64};
  std::vector<StackPorts> stacks;
  for (const VenueConfig& stack : stacks_of(config))
    stacks.push_back({&orders, &images, stack.spec(), control::shard_of(stack.shard)});
  Engine engine(config.engine, stacks, trace, log);
  for (const PluginConfig& plugin : config.plugins) {
    if (!plugin.enabled) continue;
    try {
      const tickpath_plugin& code = load_plugin(find_plugin_file(plugin.file, config.plugin_dir));
      engine.start(engine.add(code, plugin));
    } catch (const PluginError& error) {
      problems.emplace_back(error.what());
    }
  }
  return problems;
}

}  // namespace tickpath::strategy
