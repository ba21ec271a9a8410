#include "common/net/detail/openssl.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/trusted_file.hpp"
#include "common/net/file_descriptor.hpp"
#include "common/net/secure_options.hpp"

namespace tickpath::net::detail {
namespace {

constexpr std::size_t kKeyFileBytesMax = 64 * 1024;  // a dozen times the largest we write

std::string read_file(const std::string& path, bool secret) {
  if (const std::string why = why_untrusted(path); !why.empty())
    throw_keys(path + " is not used, as others could change it: " + why);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    throw_keys("cannot read " + path + ": " + std::strerror(errno) +
               "; `tickpath keys` makes the key files");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_keys(path + ": " + std::strerror(errno));
  if (secret && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw_keys(path + " can be read by others: chmod 600 " + path);
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof(buffer));
    if (count < 0) throw_keys("cannot read " + path + ": " + std::strerror(errno));
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > kKeyFileBytesMax) throw_keys(path + " is too long for a key file");
  }
}

std::int64_t unix_s(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return ::timegm(&parts);
}

// A key with a passphrase would otherwise ask at the terminal, and hang a program in the
// background.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

}  // namespace

void throw_keys(const std::string& what) { throw SecureError(SecureCause::kKeys, what); }

std::string openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

UniqueCertificate read_certificate(const std::string& pem, const std::string& name) {
  const UniqueBio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  UniqueCertificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  if (!certificate) throw_keys(name + " is no certificate in PEM: " + openssl_error());
  return certificate;
}

UniqueKey read_key(const std::string& pem, const std::string& name) {
  const UniqueBio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  UniqueKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) throw_keys(name + " is no private key in PEM without passphrase: " + openssl_error());
  return key;
}

std::int64_t not_before_unix_s(const X509* certificate) {
  return unix_s(X509_get0_notBefore(certificate));
}
std::int64_t not_after_unix_s(const X509* certificate) {
  return unix_s(X509_get0_notAfter(certificate));
}

std::string role_of(X509* certificate) {
  char name[64];
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                               name, sizeof(name));
  if (length <= 0) return {};
  const std::string role(name, static_cast<std::size_t>(length));
  const std::string host = role + ".tickpath";
  const unsigned flags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS;
  if (X509_check_host(certificate, host.data(), host.size(), flags, nullptr) != 1) return {};
  return role;
}

std::string read_secret_file(const std::string& path) { return read_file(path, true); }
std::string read_public_file(const std::string& path) { return read_file(path, false); }

}  // namespace tickpath::net::detail
