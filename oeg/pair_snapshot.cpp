#include "oeg/pair_snapshot.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::oeg {
namespace {

// A step reads so much of the store, which is in memory: a millisecond or two. A store of the
// default size takes six steps.
constexpr std::uint64_t kPartBytes = 1u << 22;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

net::FileDescriptor opened(const std::string& path) {
  net::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw SystemError("cannot open " + path, errno);
  return file;
}

std::uint64_t size_of(const net::FileDescriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw SystemError("cannot stat " + path, errno);
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

PairSnapshot::PairSnapshot(Journal& journal, const std::string& store,
                           const std::string& exceptions)
    : store_path_(store),
      store_(opened(store)),
      checkpoint_(journal.snapshot()),
      exceptions_(content_of(exceptions)),
      header_{checkpoint_.size(), size_of(store_, store), exceptions_.size()} {}

bool PairSnapshot::step(rdma::Device& device) {
  if (region_ != nullptr) {
    read_store();
    return done();
  }
  const std::uint64_t store_place = sizeof(header_) + header_.checkpoint_bytes;
  const std::uint64_t exceptions_place = store_place + header_.store_bytes;
  region_ = device.allocate(exceptions_place + header_.exceptions_bytes,
                            rdma::kLocalWrite | rdma::kRemoteRead, "oeg.snapshot");
  put(0, &header_, sizeof(header_));
  put(sizeof(header_), checkpoint_.data(), checkpoint_.size());
  put(exceptions_place, exceptions_.data(), exceptions_.size());
  checkpoint_ = {};
  return done();
}

void PairSnapshot::put(std::uint64_t at, const void* bytes, std::size_t size) noexcept {
  std::memcpy(region_->data() + at, bytes, size);
}

void PairSnapshot::read_store() {
  std::byte* const place = region_->data() + sizeof(header_) + header_.checkpoint_bytes;
  const std::uint64_t end = std::min(store_at_ + kPartBytes, header_.store_bytes);
  while (store_at_ < end) {
    const ssize_t got =
        ::pread(store_.get(), place + store_at_, end - store_at_, static_cast<off_t>(store_at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw SystemError("cannot read " + store_path_, errno);
    if (got == 0) throw Error(store_path_ + " has become shorter");
    store_at_ += static_cast<std::uint64_t>(got);
  }
}

}  // namespace tickpath::oeg
