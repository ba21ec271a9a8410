// The replay's admin commands: pause, continue, seek, speed.
#include <nlohmann/json.hpp>

#include "sim/application.hpp"
#include "sim/replay/time_of_day.hpp"

namespace tickpath::sim {

using control::Json;

void SimApplication::add_replay_controls() {
  // A command that would do nothing says why.
  const auto when = [this](ReplayState wanted, Command::Kind kind, const char* what) {
    const auto state = static_cast<ReplayState>(replayer_.progress().state.get());
    if (state != wanted)
      throw Error(fmt::format("the replay is {}: only one that is {} can be {}", name(state),
                              name(wanted), what));
    post(kind);
    return Json::object();
  };
  runtime_.add_command(
      "pause", "stops the recording's clock; heartbeats and matching go on",
      [when](const Json&) { return when(ReplayState::kRunning, Command::Kind::kPause, "paused"); });
  runtime_.add_command("continue", "after a pause", [when](const Json&) {
    return when(ReplayState::kPaused, Command::Kind::kResume, "continued");
  });
  runtime_.add_command("seek",
                       "goes on at \"time\" of the recording (\"09:45\"); what lies between is "
                       "sent at replay.max_rate",
                       [this](const Json& request) { return seek(request); });
  runtime_.add_command("speed", "goes on at \"speed\" times the recorded pace",
                       [this](const Json& request) { return change_speed(request); });
}

Json SimApplication::change_speed(const Json& request) {
  const double speed = request.contains("speed") && request.at("speed").is_number()
                           ? request.at("speed").get<double>()
                           : 0.0;
  if (!(speed >= kSpeedMin && speed <= kSpeedMax))
    throw Error(fmt::format("speed wants a number from {} to {}", kSpeedMin, kSpeedMax));
  const auto state = static_cast<ReplayState>(replayer_.progress().state.get());
  if (state == ReplayState::kEnded || state == ReplayState::kHalted)
    throw Error(fmt::format("the replay is {}", name(state)));
  if (config_.replay.pace.mode == PaceMode::kMax)
    throw Error("with replay.pace = \"max\" everything is sent as fast as replay.max_rate allows");
  if (!datapath_.post({.kind = Command::Kind::kSpeed, .speed = speed}))
    throw Error("the datapath thread does not take commands");
  return {{"speed", speed}};
}

Json SimApplication::seek(const Json& request) {
  if (!request.contains("time") || !request.at("time").is_string())
    throw Error("seek wants the \"time\" of day as a text");
  const ReplayProgress& progress = replayer_.progress();
  const std::uint64_t to = on_day_of(progress.position_ns.get(),
                                     parse_time_of_day(request.at("time").get<std::string>()));
  const auto state = static_cast<ReplayState>(progress.state.get());
  if (state == ReplayState::kEnded || state == ReplayState::kHalted)
    throw Error(fmt::format("the replay is {}", name(state)));
  if (config_.replay.pace.mode == PaceMode::kMax)
    throw Error("with replay.pace = \"max\" everything is sent as fast as replay.max_rate allows");
  if (to <= progress.position_ns.get())
    throw Error(fmt::format(
        "the replay is at {} already, and what was sent and traded cannot be taken back: start sim "
        "again with replay.from",
        format_time_of_day(progress.position_ns.get())));
  post(Command::Kind::kSeek, to);
  return {{"time", format_time_of_day(to)}};
}

}  // namespace tickpath::sim
