#include "runtime/network/tls_session.hpp"

#include "messages/formatted.hpp"
#include "runtime/network/tls_context.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

namespace actorrun::detail {

namespace {

constexpr unsigned char psk_identity[] = "actorrun link";
constexpr size_t psk_identity_size = sizeof psk_identity - 1;

/// TLS_AES_128_CCM_SHA256 (RFC 8446 appendix B.4), the one cipher of `new_tls_context`.
constexpr unsigned char cipher_number[] = {0x13, 0x04};

/// RFC 9001 section 6.6 allows some 2^21 packets under one key of this cipher.
constexpr auto records_per_key = uint64_t{1} << 20;

/// Of one record's plain text.
constexpr size_t plain_size_max = 16'384;

// Exporters' labels that no registry has (RFC 8446 section 7.5, RFC 5705 section 4).
constexpr auto resumption_export
  = std::string_view{"EXPERIMENTAL actorrun resumption"};
constexpr auto binding_label
  = std::string_view{"EXPERIMENTAL actorrun binding"};

std::string_view label_of_proof(link_side side) {
  return side == link_side::client ? "actorrun client binding v1:"
                                   : "actorrun server binding v1:";
}

resumption_key exported(SSL* ssl, std::string_view label) {
  auto out = resumption_key{};
  [[maybe_unused]] const auto done = SSL_export_keying_material(
    ssl, out.data(), out.size(), label.data(), label.size(), nullptr, 0, 0);
  assert(done == 1);
  return out;
}

/// Nothing needs them after the handshake, and OpenSSL would keep them as long as the
/// session: a coordinator has thousands of those.
void forget_ephemeral_keys(SSL* ssl) {
  EVP_PKEY* mine = nullptr;
  EVP_PKEY* theirs = nullptr;
  SSL_get_tmp_key(ssl, &mine);
  SSL_get_peer_tmp_key(ssl, &theirs);
  for (auto* key : {mine, theirs}) {
    if (key == nullptr)
      continue;
    EVP_PKEY_set_type(key, EVP_PKEY_X25519);
    EVP_PKEY_free(key);
  }
}

/// Whether OpenSSL reports what the other side has complained of.
bool is_alert(unsigned long code) {
  constexpr auto first = SSL_AD_REASON_OFFSET;
  const auto reason = ERR_GET_REASON(code);
  return ERR_GET_LIB(code) == ERR_LIB_SSL && reason >= first
         && reason < first + 256;
}

/// The check that a certificate is for this host, which OpenSSL makes.
void require_host(SSL* ssl, const std::string& host) {
  auto* rules = SSL_get0_param(ssl);
  const auto bare = host.substr(0, host.find('%'));
  X509_VERIFY_PARAM_set_hostflags(rules,
                                  X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
                                    | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  [[maybe_unused]] const auto done
    = X509_VERIFY_PARAM_set1_ip_asc(rules, bare.c_str()) == 1
      || X509_VERIFY_PARAM_set1_host(rules, bare.data(), bare.size()) == 1;
  ERR_clear_error(); // A name is no address.
  assert(done && !bare.empty());
}

} // namespace

struct tls_callbacks {
  static tls_session& of(SSL* ssl) {
    return *static_cast<tls_session*>(SSL_get_app_data(ssl));
  }

  static SSL_SESSION* make_session(SSL* ssl) {
    auto* out = SSL_SESSION_new();
    const auto& key = of(ssl).key_;
    if (out != nullptr
        && (SSL_SESSION_set1_master_key(out, key.data(), key.size()) != 1
            || SSL_SESSION_set_cipher(out, SSL_CIPHER_find(ssl, cipher_number))
                 != 1
            || SSL_SESSION_set_protocol_version(out, TLS1_3_VERSION) != 1)) {
      SSL_SESSION_free(out);
      return nullptr;
    }
    return out;
  }

  static int use(SSL* ssl, const EVP_MD*, const unsigned char** id,
                 size_t* id_size, SSL_SESSION** session) {
    *id = psk_identity;
    *id_size = psk_identity_size;
    *session = make_session(ssl);
    return *session == nullptr ? 0 : 1;
  }

  static int find(SSL* ssl, const unsigned char* id, size_t id_size,
                  SSL_SESSION** session) {
    const auto is_ours = id_size == psk_identity_size
                         && std::memcmp(id, psk_identity, id_size) == 0;
    *session = is_ours ? make_session(ssl) : nullptr;
    return is_ours && *session == nullptr ? 0 : 1;
  }

  // OpenSSL's own BIO in memory would keep a buffer for each direction of each link.

  static tls_session& of(BIO* bio) {
    return *static_cast<tls_session*>(BIO_get_data(bio));
  }

  static int read(BIO* bio, char* to, size_t size, size_t* count) {
    auto& in = of(bio).in_;
    BIO_clear_retry_flags(bio);
    *count = in.copy(to, size);
    in.remove_prefix(*count);
    if (*count == 0)
      BIO_set_retry_read(bio);
    return *count == 0 ? 0 : 1;
  }

  static int write(BIO* bio, const char* from, size_t size, size_t* count) {
    of(bio).out_.append(from, size);
    *count = size;
    return 1;
  }

  // There is nothing to flush, and no end of the input: that is the socket's.
  static long control(BIO*, int what, long, void*) {
    return what == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static BIO_METHOD* make_method() {
    auto* out = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
                             "actorrun records");
    [[maybe_unused]] const auto done = out != nullptr
                                       && BIO_meth_set_read_ex(out, read) == 1
                                       && BIO_meth_set_write_ex(out, write) == 1
                                       && BIO_meth_set_ctrl(out, control) == 1;
    assert(done);
    return out;
  }

  /// Lives as long as the program.
  static BIO* make_bio(tls_session& of) {
    static auto* const method = make_method();
    auto* out = BIO_new(method);
    assert(out != nullptr);
    BIO_set_data(out, &of);
    BIO_set_init(out, 1);
    return out;
  }
};

namespace {

SSL_CTX* make_psk_context(link_side side) {
  auto* x = new_tls_context(side);
  // Without the key there are only certificates: a server of ours has none, and a
  // client trusts none.
  SSL_CTX_set_verify(
    x, side == link_side::client ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_psk_use_session_callback(x, tls_callbacks::use);
  SSL_CTX_set_psk_find_session_callback(x, tls_callbacks::find);
  return x;
}

/// Lives as long as the program; making one takes longer than a link.
SSL_CTX* psk_context_of(link_side side) {
  static auto* const client = make_psk_context(link_side::client);
  static auto* const server = make_psk_context(link_side::server);
  return side == link_side::client ? client : server;
}

} // namespace

void tls_session::free_ssl::operator()(SSL* x) const {
  SSL_free(x);
}

tls_session::tls_session(link_side side, const link_key& key,
                         const tls_trust& trust)
  : side_(side), key_(key), has_certificates_(trust.identity != nullptr),
    ssl_(new_side(trust)) {
  assert(ssl_);
  SSL_set_app_data(ssl_.get(), this);
  auto* bytes = tls_callbacks::make_bio(*this);
  SSL_set_bio(ssl_.get(), bytes, bytes);
  if (side == link_side::server) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
    SSL_do_handshake(ssl_.get()); // Only writes the first record.
    ERR_clear_error();
  }
}

tls_session::~tls_session() = default;

SSL* tls_session::new_side(const tls_trust& trust) const {
  auto* out = SSL_new(has_certificates_ ? trust.identity->context_of(side_)
                                        : psk_context_of(side_));
  if (has_certificates_ && side_ == link_side::client)
    require_host(out, trust.server_host);
  return out;
}

result<void> tls_session::receive(std::string_view records,
                                  std::string& plain) {
  in_ = records;
  auto ok = take(plain);
  assert(!ok || has_ended_ || in_.empty()); // OpenSSL keeps what is not whole.
  in_ = {};
  return ok;
}

result<void> tls_session::take(std::string& plain) {
  if (auto ok = shake_hands(); !ok || !has_agreed_)
    return ok;
  if (is_open_)
    return read(plain);
  if (auto ok = read(first_bytes_); !ok)
    return ok;
  return check_binding(plain);
}

result<void> tls_session::read(std::string& plain) {
  std::array<char, plain_size_max>
    buffer; // Zeros would cost more than a record.
  do {
    ERR_clear_error();
    const auto got = SSL_read(ssl_.get(), buffer.data(), int{buffer.size()});
    if (got > 0) {
      plain.append(buffer.data(), static_cast<size_t>(got));
      continue;
    }
    const auto why = SSL_get_error(ssl_.get(), got);
    if (why == SSL_ERROR_WANT_READ)
      return {};
    if (why == SSL_ERROR_ZERO_RETURN) {
      has_ended_ = true;
      return {};
    }
    return complaint();
  } while (SSL_pending(ssl_.get()) > 0 || !in_.empty());
  return {};
}

result<void> tls_session::shake_hands() {
  if (has_agreed_)
    return {};
  ERR_clear_error();
  const auto done = SSL_do_handshake(ssl_.get());
  if (done != 1)
    return SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ
             ? result<void>{}
             : complaint();
  forget_ephemeral_keys(ssl_.get());
  has_agreed_ = true;
  is_open_ = !has_certificates_;
  return is_open_ ? result<void>{} : write(binding_of(side_));
}

// Each side proves the key of the handshake in clear text, in this session.
std::string tls_session::binding_of(link_side side) const {
  const auto here = exported(ssl_.get(), binding_label);
  const auto proof
    = prove(key_, label_of_proof(side),
            std::array{std::string_view{
              reinterpret_cast<const char*>(here.data()), here.size()}});
  return {proof.begin(), proof.end()};
}

result<void> tls_session::check_binding(std::string& plain) {
  if (first_bytes_.size() < proof_size)
    return {};
  const auto theirs
    = side_ == link_side::client ? link_side::server : link_side::client;
  const auto expected = binding_of(theirs);
  if (CRYPTO_memcmp(expected.data(), first_bytes_.data(), proof_size) != 0)
    return failure{errc::connection_failed,
                   "is not the peer that the handshake was with"};
  plain += std::string_view{first_bytes_}.substr(proof_size);
  std::string{}.swap(first_bytes_);
  is_open_ = true;
  return {};
}

result<void> tls_session::send(std::string_view plain) {
  assert(is_open_);
  return write(plain);
}

result<void> tls_session::write(std::string_view plain) {
  while (!plain.empty()) {
    const auto part = plain.substr(0, plain_size_max);
    ERR_clear_error();
    if (++sent_count_ % records_per_key == 0)
      SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
    const auto size = static_cast<int>(part.size());
    if (SSL_write(ssl_.get(), part.data(), size) != size)
      return complaint();
    plain.remove_prefix(part.size());
  }
  return {};
}

void tls_session::close() {
  if (has_agreed_)
    SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

resumption_key tls_session::key_to_resume() const {
  assert(is_open_);
  return exported(ssl_.get(), resumption_export);
}

bool tls_session::may_speak_for(const std::string& host) const {
  assert(is_open_);
  if (!has_certificates_)
    return true;
  auto* certificate = SSL_get0_peer_certificate(ssl_.get());
  return certificate != nullptr && names_host(*certificate, host);
}

// The first of OpenSSL's complaints on this thread; forgets the others.
failure tls_session::complaint() const {
  const auto code = ERR_get_error();
  ERR_clear_error();
  const auto* known = code == 0 ? nullptr : ERR_reason_error_string(code);
  const auto* reason = known == nullptr ? "no reason is known" : known;
  if (const auto found = SSL_get_verify_result(ssl_.get());
      has_certificates_ && found != X509_V_OK)
    return {errc::certificate_mismatch,
            formatted("has a certificate that is not accepted here ({})",
                      X509_verify_cert_error_string(found))};
  if (has_certificates_ && !is_open_ && is_alert(code))
    return {errc::certificate_mismatch,
            formatted("does not accept the certificate of this program ({})",
                      reason)};
  return {errc::connection_failed,
          formatted("broke the encryption ({})", reason)};
}

std::string tls_session::take_records() {
  return std::exchange(out_, {});
}

} // namespace actorrun::detail
