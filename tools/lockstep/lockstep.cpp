#include "tools/lockstep/lockstep.hpp"

#include "common/log/log.hpp"
#include "tools/lockstep/pipeline.hpp"
#include "tools/lockstep/state.hpp"

namespace tickpath::lockstep {
Result run(const Options& options) {
  const net::FileDescriptor ours = prepare_run_dir(options.run_dir);
  Pipeline pipeline(options);
  pipeline.start();
  pipeline.replay();
  return pipeline.finish();
}

}  // namespace tickpath::lockstep
