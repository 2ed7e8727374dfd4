#include "runtime/network/keys.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <string>

namespace actorrun::detail {

namespace {

// The version in a label changes when the meaning of what it labels does.
constexpr std::string_view fingerprint_label = "actorrun job fingerprint v1:";
constexpr std::string_view secret_label = "actorrun key of secret v1:";
constexpr std::string_view job_label = "actorrun key of job id v1:";

using kdf = std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)>;
using kdf_context = std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)>;

OSSL_PARAM octets(const char* name, std::string_view value) {
  // OpenSSL only reads what is behind the pointer.
  return OSSL_PARAM_construct_octet_string(
    name, const_cast<char*>(value.data()), value.size());
}

const uint8_t* raw(std::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

uint8_t* raw(std::string& bytes) {
  return reinterpret_cast<uint8_t*>(bytes.data());
}

constexpr auto seal_nonce_size = size_t{12};
constexpr auto seal_tag_size = size_t{16};

using cipher_context
  = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

template <size_t N>
std::array<uint8_t, N> random_bytes() {
  auto out = std::array<uint8_t, N>{};
  [[maybe_unused]] const auto done
    = RAND_bytes(out.data(), static_cast<int>(out.size()));
  assert(done == 1);
  return out;
}

} // namespace

job_fingerprint fingerprint_of(const job_id& job) {
  const auto input = std::string{fingerprint_label} + job.value;
  auto digest = std::array<uint8_t, EVP_MAX_MD_SIZE>{};
  auto size = size_t{0};
  [[maybe_unused]] const auto done
    = EVP_Q_digest(nullptr, "SHA256", nullptr, input.data(), input.size(),
                   digest.data(), &size);
  assert(done == 1 && size >= fingerprint_size);
  auto out = job_fingerprint{};
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

job_key derive_key(const job_id& job, std::string_view secret) {
  // Different labels: a secret that equals the job id is still a secret.
  const auto info
    = std::string{secret.empty() ? job_label : secret_label} + job.value;
  const auto material = secret.empty() ? std::string_view{info} : secret;
  const auto algorithm
    = kdf{EVP_KDF_fetch(nullptr, "HKDF", nullptr), &EVP_KDF_free};
  const auto context
    = kdf_context{EVP_KDF_CTX_new(algorithm.get()), &EVP_KDF_CTX_free};
  assert(context);
  const OSSL_PARAM parameters[] = {
    OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST,
                                     const_cast<char*>("SHA256"), 0),
    octets(OSSL_KDF_PARAM_KEY, material),
    octets(OSSL_KDF_PARAM_INFO, info),
    OSSL_PARAM_construct_end(),
  };
  auto out = job_key{};
  [[maybe_unused]] const auto done
    = EVP_KDF_derive(context.get(), out.data(), out.size(), parameters);
  assert(done == 1);
  return out;
}

credentials credentials_of(const job_id& job, std::string_view secret) {
  return {.fingerprint = fingerprint_of(job),
          .key = derive_key(job, secret),
          .has_secret = !secret.empty()};
}

nonce_bytes random_nonce() {
  return random_bytes<nonce_size>();
}

job_key random_key() {
  return random_bytes<key_size>();
}

proof_bytes prove(const job_key& key, std::string_view label,
                  std::span<const std::string_view> parts) {
  auto input = std::string{label};
  for (const auto part : parts)
    input += part;
  auto out = proof_bytes{};
  auto size = size_t{0};
  [[maybe_unused]] const auto* done = EVP_Q_mac(
    nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(),
    raw(input), input.size(), out.data(), out.size(), &size);
  assert(done && size == out.size());
  return out;
}

std::string seal(const job_key& key, std::string_view label,
                 std::string_view what) {
  const auto nonce = random_bytes<seal_nonce_size>();
  auto out = std::string{view(nonce)};
  out.resize(nonce.size() + what.size() + seal_tag_size);
  auto* to = raw(out) + nonce.size();
  const auto context
    = cipher_context{EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free};
  auto* x = context.get();
  auto size = 0;
  [[maybe_unused]] const auto done
    = EVP_EncryptInit_ex2(x, EVP_aes_256_gcm(), key.data(), nonce.data(),
                          nullptr)
      && EVP_EncryptUpdate(x, nullptr, &size, raw(label), int(label.size()))
      && EVP_EncryptUpdate(x, to, &size, raw(what), int(what.size()))
      && EVP_EncryptFinal_ex(x, to + what.size(), &size)
      && EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_GET_TAG, seal_tag_size,
                             to + what.size());
  assert(done);
  return out;
}

std::optional<std::string> unseal(const job_key& key, std::string_view label,
                                  std::string_view sealed) {
  if (sealed.size() < seal_nonce_size + seal_tag_size)
    return std::nullopt;
  const auto content = sealed.substr(
    seal_nonce_size, sealed.size() - seal_nonce_size - seal_tag_size);
  auto tag = std::string{sealed.substr(sealed.size() - seal_tag_size)};
  auto out = std::string(content.size(), '\0');
  const auto context
    = cipher_context{EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free};
  auto* x = context.get();
  auto size = 0;
  const auto is_genuine
    = EVP_DecryptInit_ex2(x, EVP_aes_256_gcm(), key.data(), raw(sealed),
                          nullptr)
      && EVP_DecryptUpdate(x, nullptr, &size, raw(label), int(label.size()))
      && EVP_DecryptUpdate(x, raw(out), &size, raw(content),
                           int(content.size()))
      && EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_SET_TAG, seal_tag_size, tag.data())
      && EVP_DecryptFinal_ex(x, raw(out) + out.size(), &size);
  return is_genuine ? std::optional{std::move(out)} : std::nullopt;
}

bool same_proof(const proof_bytes& a, std::string_view b) {
  return b.size() == a.size()
         && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

} // namespace actorrun::detail
