#include "common/lockstep/lockstep.hpp"

#include "common/lockstep/pipeline.hpp"
#include "common/lockstep/state.hpp"
#include "common/log/log.hpp"

namespace tickpath::lockstep {
Result run(const Options& options) {
  prepare_run_dir(options.run_dir);
  Pipeline pipeline(options);
  pipeline.start();
  pipeline.replay();
  return pipeline.finish();
}

}  // namespace tickpath::lockstep
