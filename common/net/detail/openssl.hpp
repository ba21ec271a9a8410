// OpenSSL 3 handles that free themselves, and its error queue as text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace tickpath::net::detail {

template <auto kFree>
struct Freer {
  template <class T>
  void operator()(T* object) const noexcept {
    kFree(object);
  }
};
inline void free_bio(BIO* bio) noexcept { BIO_free(bio); }

using UniqueKey = std::unique_ptr<EVP_PKEY, Freer<&EVP_PKEY_free>>;
using UniqueCertificate = std::unique_ptr<X509, Freer<&X509_free>>;
using UniqueExtension = std::unique_ptr<X509_EXTENSION, Freer<&X509_EXTENSION_free>>;
using UniqueBio = std::unique_ptr<BIO, Freer<&free_bio>>;
using UniqueSession = std::unique_ptr<SSL_SESSION, Freer<&SSL_SESSION_free>>;

// What OpenSSL complained about last, and forgets it: "no start line".
std::string openssl_error();

// Throws SecureError{kKeys}: our own key files are at fault.
[[noreturn]] void throw_keys(const std::string& what);

// Both throw SecureError{kKeys}; `name` is the file in the message.
UniqueCertificate read_certificate(const std::string& pem, const std::string& name);
UniqueKey read_key(const std::string& pem, const std::string& name);

std::int64_t not_before_unix_s(const X509* certificate);
std::int64_t not_after_unix_s(const X509* certificate);
// The role that a certificate of ours is made out to: its common name, if the alternative name
// confirms it; empty otherwise.
std::string role_of(X509* certificate);

// A file that holds a secret: throws SecureError{kKeys} if it is missing, or anyone but its owner
// has rights on it.
std::string read_secret_file(const std::string& path);
std::string read_public_file(const std::string& path);

}  // namespace tickpath::net::detail
