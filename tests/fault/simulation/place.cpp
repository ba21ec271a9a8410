#include "tests/fault/simulation/place.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "oeg/journal_segment.hpp"

namespace tickpath::simulation {
namespace {

namespace fs = std::filesystem;
using oeg::Pair;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

}  // namespace

// ----------------------------------------------------------------------------------- the process

Place::Process::Process(Surroundings& around, Place& place)
    : device(around.fabric),
      heartbeat(device, "heartbeat"),
      memory(place.file(".pair"), static_cast<std::uint8_t>(place.id_), place.boot_),
      rules(memory.load().value_or(oeg::Succession(static_cast<std::uint8_t>(place.id_)))),
      remembers(memory.load().has_value()) {}

Place::Place(Surroundings& around, int id) : around_(around), id_(id), own_(file(".journal"), {}) {}
Place::~Place() { end(); }

std::string Place::file(const std::string& name) const {
  return around_.folder + "/oeg" + std::to_string(id_) + name;
}

void Place::start() {
  if (life_ != Life::kEnded) return;
  process_ = std::make_unique<Process>(around_, *this);
  life_ = Life::kBegins;
}

void Place::end() {
  if (process_ == nullptr) return;
  around_.fabric.end(id_);
  if (process_->line != nullptr) process_->line->dropped = true;
  process_.reset();
  const bool by_power = left_ && end_by_power_;
  if (left_) {
    write_disk(*left_);
    synced_memory_ = left_->synced_memory;
  }
  left_.reset();
  if (by_power) forget_unsynced(around_.random.one_in(2));
  end_step_ = oeg::Step::kNone;
  stopped = stuck = false;
  life_ = Life::kEnded;
}

void Place::start_anew() {
  end();
  start();
}

void Place::end_at(oeg::Step step, std::uint32_t passes, bool by_power) noexcept {
  end_by_power_ = by_power;
  end_step_ = step;
  end_passes_ = passes;
}

// What it writes from here on is undone: its end came before.
void Place::at(oeg::Step step) noexcept {
  if (step != end_step_ || left_) return;
  if (end_passes_ > 0) {
    --end_passes_;
    return;
  }
  left_ = read_disk();
  around_.fabric.silence(id_);
}

void Place::hand_over() {
  if (runs() && leads() && pair()->status().has_standby() && pair()->witness().is_there())
    pair()->commands().hand_over();
}

// ---------------------------------------------------------------------------------------- disks

Place::Disk Place::read_disk() const {
  Disk disk;
  const std::string prefix = "oeg" + std::to_string(id_) + ".";
  for (const fs::directory_entry& entry : fs::directory_iterator(around_.folder))
    if (entry.is_regular_file() && entry.path().filename().string().starts_with(prefix))
      disk.files.emplace_back(entry.path(), content_of(entry.path()));
  disk.store = store_;
  disk.synced_memory = synced_memory_;
  return disk;
}

void Place::write_disk(const Disk& disk) {
  const std::string prefix = "oeg" + std::to_string(id_) + ".";
  std::vector<fs::path> former;
  for (const fs::directory_entry& entry : fs::directory_iterator(around_.folder))
    if (entry.path().filename().string().starts_with(prefix)) former.push_back(entry.path());
  // The pair's file keeps its inode, by which a copied file would be known.
  for (const fs::path& path : former)
    if (path.extension() != ".pair" || disk.files.empty()) fs::remove_all(path);
  for (const auto& [path, content] : disk.files) write_file(path, content);
  store_ = disk.store;
}

std::string Place::read_memory() const { return content_of(file(".pair")); }

void Place::lose_power(bool loses_records) {
  end();
  forget_unsynced(loses_records);
}

// The pages of its files that were not synced are lost: of the pair's memory all, of the journal
// the last ones.
void Place::forget_unsynced(bool loses_records) {
  ++boot_;
  if (synced_memory_.empty())
    fs::remove(file(".pair"));
  else
    write_file(file(".pair"), synced_memory_);
  std::string newest = file(".journal.next");
  oeg::SegmentHeader header;
  if (!fs::exists(newest) || !oeg::JournalSegment::open(newest)->written(0))
    newest = file(".journal");
  if (!loses_records || !fs::exists(newest) ||
      oeg::JournalSegment::examine(newest, header) != oeg::SegmentKind::kSegment)
    return;
  const std::unique_ptr<oeg::JournalSegment> segment = oeg::JournalSegment::open(newest);
  const std::uint64_t count = segment->count();
  const std::uint64_t page = 4096 / sizeof(oeg::JournalRecord);
  const std::uint64_t from = around_.random.below(count / page + 1) * page;
  for (std::uint64_t at = from; at < count; ++at) {
    segment->records()[at] = {};
    old_ = true;
  }
}

void Place::lose_memory() {
  end();
  write_disk({});
  synced_memory_.clear();
  old_ = led_in_ != 0 || other_->led_in_ != 0;
}

void Place::copy_disk() {
  if (runs() && !left_) copy_ = read_disk();
}

void Place::put_copy_back() {
  end();
  // An image of the whole host, which is started with it; or files, among them a pair's file with
  // another inode.
  const bool is_image = around_.random.one_in(2);
  if (is_image)
    ++boot_;
  else
    fs::remove(file(".pair"));
  write_disk(*copy_);
  copy_.reset();
  old_ = put_back_ = true;
  start();
  tick();
}

bool Place::has_memory() const {
  return process_ != nullptr && process_->memory.load().has_value();
}

bool Place::remembers_a_leader() const {
  const auto does = [](const oeg::PairMemory& memory) {
    const std::optional<oeg::Succession> state = memory.load();
    return state && state->word().epoch != 0;
  };
  if (process_ != nullptr) return does(process_->memory);
  const std::string path = file(".pair");
  return fs::exists(path) && does(oeg::PairMemory(path, static_cast<std::uint8_t>(id_), boot_));
}

bool Place::waits_for_word() const noexcept {
  return runs() && process_->pair->status().waits_for_word();
}

// ------------------------------------------------------------------------------------ what it is

bool Place::leads() const noexcept {
  return runs() && process_->leading && process_->pair->stage() == Pair::Stage::kLeading &&
         !process_->pair->status().blocked();
}

bool Place::takes_over() const noexcept {
  return runs() && process_->pair->stage() == Pair::Stage::kTakingOver;
}

bool Place::leads_alone() const noexcept {
  if (!runs() || left_) return false;
  const Pair& pair = *process_->pair;
  const bool decided =
      pair.stage() == Pair::Stage::kLeading || pair.stage() == Pair::Stage::kTakingOver;
  return decided && !pair.status().blocked() && !pair.status().has_standby() && pair.word().alone &&
         pair.word().leader == id_;
}

}  // namespace tickpath::simulation
