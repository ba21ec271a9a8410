#include "common/rdma/ofi/library.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

#include <dlfcn.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {
namespace {

// Puts the handlers back that were there.
class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], nullptr, &before_[i]);
  }
  ~KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGILL,  SIGFPE,
                                       SIGABRT, SIGINT, SIGTERM, SIGTRAP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr)
    throw SetupError(SetupCause::kNoDevice,
                     std::string("libfabric.so.1 has no ") + name + ": 1.17 or newer is needed");
}

OfiLibrary load() {
  const KeptSignals kept;
  // As libpsm2 and libinfinipath have it (their psm2.7 and psm.7: no handlers of their own).
  ::setenv("HFI_NO_BACKTRACE", "1", 0);
  ::setenv("IPATH_NO_BACKTRACE", "1", 0);
  void* const library = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    throw SetupError(SetupCause::kNoDevice,
                     std::string("the ofi provider needs libfabric 1.17 or newer (Debian: "
                                 "libfabric1): ") +
                         (why == nullptr ? "it cannot be loaded" : why));
  }
  OfiLibrary loaded{};
  find(library, "fi_getinfo", loaded.getinfo);
  find(library, "fi_freeinfo", loaded.freeinfo);
  find(library, "fi_dupinfo", loaded.dupinfo);
  find(library, "fi_fabric", loaded.fabric);
  find(library, "fi_strerror", loaded.strerror);
  // Loads what its providers are made of; the rest of it is cheap.
  fi_info* found = nullptr;
  if (loaded.getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &found) == 0)
    loaded.freeinfo(found);
  return loaded;
}

}  // namespace

const OfiLibrary& ofi_library() {
  static const OfiLibrary library = load();
  return library;
}

}  // namespace tickpath::rdma::detail
