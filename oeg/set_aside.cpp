#include "oeg/set_aside.hpp"

#include <filesystem>
#include <utility>

#include "oeg/journal.hpp"

namespace tickpath::oeg {
namespace {

namespace fs = std::filesystem;

std::string aside_of(const std::string& path) { return path + ".aside"; }
std::string former_of(const std::string& path) { return path + ".former"; }

void rename_if_there(const std::string& from, const std::string& to) {
  if (fs::exists(from)) fs::rename(from, to);
}

}  // namespace

SetAside::SetAside(const std::string& journal, std::vector<std::string> files)
    : journal_(journal),
      unfinished_(journal + ".aside.unfinished"),
      aside_(aside_of(journal)),
      files_(std::move(files)) {}

// The journal last, in one step: <journal>.aside says that everything is aside. Until then each
// file that stands in its place is this oeg's own, also after a crash.
void SetAside::begin() const {
  if (fs::exists(aside_)) return remove_journal();
  for (const std::string& file : files_)
    if (!fs::exists(aside_of(file))) rename_if_there(file, aside_of(file));
  Journal::move_all(journal_, unfinished_);
  fs::rename(unfinished_, aside_);
}

void SetAside::put_back() const {
  if (!fs::exists(aside_)) return;
  remove_journal();
  fs::rename(aside_, unfinished_);
  for (const fs::directory_entry& entry : fs::directory_iterator(unfinished_))
    fs::rename(entry.path(), fs::path(journal_).parent_path() / entry.path().filename());
  fs::remove(unfinished_);
  for (const std::string& file : files_) {
    fs::remove(file);
    rename_if_there(aside_of(file), file);
  }
}

void SetAside::keep() const {
  if (!fs::exists(aside_)) return;
  for (const std::string& file : files_) rename_if_there(aside_of(file), former_of(file));
  fs::remove_all(former_of(journal_));
  fs::rename(aside_, former_of(journal_));
}

void SetAside::remove_journal() const {
  const std::string failed = journal_ + ".failed";
  Journal::move_all(journal_, failed);
  fs::remove_all(failed);
}

}  // namespace tickpath::oeg
