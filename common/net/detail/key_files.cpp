#include "common/net/detail/key_files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/utc.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::net::detail {
namespace {

// A certificate that a machine with a clock somewhat behind must accept at once.
constexpr long kBackdatedS = 300;

void require(bool ok, const char* what) {
  if (!ok) throw SecureError(SecureCause::kKeys, std::string(what) + ": " + openssl_error());
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const UniqueExtension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1,
          "cannot add a certificate's extension");
}

void set_serial(X509* certificate) {
  std::array<unsigned char, 16> random{};
  require(RAND_bytes(random.data(), static_cast<int>(random.size())) == 1, "no random numbers");
  random[0] &= 0x7f;  // positive (RFC 5280 section 4.1.2.2)
  const std::unique_ptr<BIGNUM, Freer<&BN_free>> number(
      BN_bin2bn(random.data(), static_cast<int>(random.size()), nullptr));
  require(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr,
          "cannot number a certificate");
}

// Version 3, random number, name, times, key; not yet signed.
UniqueCertificate unsigned_certificate(EVP_PKEY* key, const std::string& name,
                                       std::int64_t valid_s) {
  UniqueCertificate certificate(X509_new());
  X509* x = certificate.get();
  require(x != nullptr && X509_set_version(x, X509_VERSION_3) == 1, "cannot make a certificate");
  set_serial(x);
  X509_NAME* subject = X509_get_subject_name(x);
  require(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                     reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                     0) == 1,
          "cannot name a certificate");
  require(X509_gmtime_adj(X509_getm_notBefore(x), -kBackdatedS) != nullptr &&
              X509_gmtime_adj(X509_getm_notAfter(x), static_cast<long>(valid_s)) != nullptr &&
              X509_set_pubkey(x, key) == 1,
          "cannot fill a certificate");
  return certificate;
}

}  // namespace

void write_key_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());  // of a run that was killed
  const FileDescriptor file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool written =
      file.get() >= 0 && ::fchmod(file.get(), 0600) == 0 &&
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file.get()) == 0 && ::rename(fresh.c_str(), path.c_str()) == 0;
  if (written) return;
  const int error = errno;
  ::unlink(fresh.c_str());
  throw SecureError(SecureCause::kKeys, "cannot write " + path + ": " + std::strerror(error));
}

void make_key_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return;
  throw SecureError(SecureCause::kKeys,
                    "cannot make the directory " + path + ": " + std::strerror(errno));
}

UniqueKey make_ed25519() {
  UniqueKey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  require(key != nullptr, "cannot make an Ed25519 key");
  return key;
}

Authority make_authority(std::int64_t valid_s) {
  Authority authority;
  authority.key = make_ed25519();
  authority.certificate = unsigned_certificate(authority.key.get(), "tickpath CA", valid_s);
  X509* x = authority.certificate.get();
  require(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1, "cannot name the CA");
  add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(x, x, NID_subject_key_identifier, "hash");
  // Ed25519 signs the bytes themselves: no digest is named (RFC 8410).
  require(X509_sign(x, authority.key.get(), nullptr) > 0, "cannot sign the CA");
  return authority;
}

UniqueCertificate make_certificate(const Authority& authority, EVP_PKEY* key,
                                   const std::string& role, std::int64_t valid_s) {
  UniqueCertificate certificate = unsigned_certificate(key, role, valid_s);
  X509* x = certificate.get();
  X509* issuer = authority.certificate.get();
  require(X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1, "cannot name the CA");
  add_extension(x, issuer, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(x, issuer, NID_key_usage, "critical,digitalSignature");
  add_extension(x, issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(x, issuer, NID_subject_alt_name, "DNS:" + role + ".tickpath");
  add_extension(x, issuer, NID_authority_key_identifier, "keyid");
  require(X509_sign(x, authority.key.get(), nullptr) > 0, "cannot sign a certificate");
  return certificate;
}

namespace {

std::string text_in(BIO* bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(length)};
}

}  // namespace

std::string pem_of(X509* certificate) {
  const UniqueBio bio(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(bio.get(), certificate) == 1, "cannot write a certificate");
  return text_in(bio.get());
}

std::string pem_of(const EVP_PKEY* key) {
  const UniqueBio bio(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "cannot write a key");
  return text_in(bio.get());
}

std::string text_of(const PskFile& file, const std::string& role) {
  std::string text = "# Pre-shared keys of " + role +
                     ": peer role, end, 32 secret bytes in hex. Made by `tickpath keys --psk`.\n";
  for (const auto& [peer, key] : file) {
    text += peer + " " + utc_text(key.expires_unix_s) + " ";
    for (const unsigned char byte : key.bytes) {
      char hex[3];
      std::snprintf(hex, sizeof(hex), "%02x", byte);
      text += hex;
    }
    text += "\n";
  }
  return text;
}

}  // namespace tickpath::net::detail
