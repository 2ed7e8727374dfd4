#include "runtime/network/tls_session.hpp"

#include "messages/formatted.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <limits>

namespace actorrun::detail {

namespace {

constexpr unsigned char psk_identity[] = "actorrun link";
constexpr size_t psk_identity_size = sizeof psk_identity - 1;

/// TLS_AES_128_GCM_SHA256, which every implementation has.
constexpr unsigned char cipher_number[] = {0x13, 0x01};
constexpr auto cipher_name = "TLS_AES_128_GCM_SHA256";

/// RFC 8446 section 5.5 allows some 2^24 records under one key.
constexpr auto records_per_key = uint64_t{1} << 20;

/// Of one record's plain text.
constexpr size_t plain_size_max = 16'384;

/// The first of OpenSSL's complaints on this thread; forgets the others.
failure complaint() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  const auto* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return {errc::connection_failed,
          formatted("broke the encryption ({})",
                    reason == nullptr ? "no reason is known" : reason)};
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
};

namespace {

SSL_CTX* make_context(link_side side) {
  auto* x = SSL_CTX_new(side == link_side::client ? TLS_client_method()
                                                  : TLS_server_method());
  [[maybe_unused]] const auto done
    = x != nullptr && SSL_CTX_set_min_proto_version(x, TLS1_3_VERSION) == 1
      && SSL_CTX_set_max_proto_version(x, TLS1_3_VERSION) == 1
      && SSL_CTX_set_ciphersuites(x, cipher_name) == 1
      && SSL_CTX_set1_groups_list(x, "X25519") == 1
      && SSL_CTX_set_num_tickets(x, 0) == 1;
  assert(done);
  SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(x, SSL_MODE_RELEASE_BUFFERS);
  // Without the key there are only certificates: a server of ours has none, and a
  // client trusts none.
  SSL_CTX_set_verify(
    x, side == link_side::client ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_psk_use_session_callback(x, tls_callbacks::use);
  SSL_CTX_set_psk_find_session_callback(x, tls_callbacks::find);
  return x;
}

/// Lives as long as the program; making one takes longer than a link.
SSL_CTX* context_of(link_side side) {
  static auto* const client = make_context(link_side::client);
  static auto* const server = make_context(link_side::server);
  return side == link_side::client ? client : server;
}

} // namespace

void tls_session::free_ssl::operator()(SSL* x) const {
  SSL_free(x);
}

tls_session::tls_session(link_side side, const link_key& key)
  : key_(key), ssl_(SSL_new(context_of(side))), in_(BIO_new(BIO_s_mem())),
    out_(BIO_new(BIO_s_mem())) {
  assert(ssl_ && in_ && out_);
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_bio(ssl_.get(), in_, out_);
  if (side == link_side::server) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
    SSL_do_handshake(ssl_.get()); // Only writes the first record.
    ERR_clear_error();
  }
}

tls_session::~tls_session() = default;

result<void> tls_session::receive(std::string_view records,
                                  std::string& plain) {
  assert(records.size() <= size_t{std::numeric_limits<int>::max()});
  const auto size = static_cast<int>(records.size());
  if (size > 0 && BIO_write(in_, records.data(), size) != size)
    return failure{errc::system_failure, "no memory is left"};
  if (auto ok = shake_hands(); !ok || !is_open_)
    return ok;
  auto buffer = std::array<char, plain_size_max>{};
  for (;;) {
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
  }
}

result<void> tls_session::shake_hands() {
  if (is_open_)
    return {};
  ERR_clear_error();
  const auto done = SSL_do_handshake(ssl_.get());
  if (done != 1)
    return SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ
             ? result<void>{}
             : complaint();
  is_open_ = true;
  return {};
}

result<void> tls_session::send(std::string_view plain) {
  assert(is_open_);
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
  if (is_open_)
    SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

resumption_key tls_session::key_to_resume() const {
  constexpr auto label = std::string_view{"EXPERIMENTAL actorrun resumption"};
  auto out = resumption_key{};
  [[maybe_unused]] const auto done
    = SSL_export_keying_material(ssl_.get(), out.data(), out.size(),
                                 label.data(), label.size(), nullptr, 0, 0);
  assert(is_open_ && done == 1);
  return out;
}

std::string tls_session::take_records() {
  auto out = std::string(BIO_ctrl_pending(out_), '\0');
  if (!out.empty())
    BIO_read(out_, out.data(), static_cast<int>(out.size()));
  return out;
}

} // namespace actorrun::detail
