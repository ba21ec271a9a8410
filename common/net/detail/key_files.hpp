// Writing key files: whole or not at all, for the owner's eyes only.
#pragma once

#include <string>

#include "common/net/detail/openssl.hpp"
#include "common/net/secure_keys.hpp"

namespace tickpath::net::detail {

// All throw SecureError{kKeys}.
void write_key_file(const std::string& path, const std::string& text);
void make_key_directory(const std::string& path);

UniqueKey make_ed25519();
struct Authority {
  UniqueCertificate certificate;
  UniqueKey key;
};
Authority make_authority(std::int64_t valid_s);
UniqueCertificate make_certificate(const Authority& authority, EVP_PKEY* key,
                                   const std::string& role, std::int64_t valid_s);

std::string pem_of(X509* certificate);
std::string pem_of(const EVP_PKEY* key);
std::string text_of(const PskFile& file, const std::string& role);

}  // namespace tickpath::net::detail
