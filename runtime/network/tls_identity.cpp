#include "runtime/network/tls_identity.hpp"

#include "messages/formatted.hpp"
#include "runtime/network/tls_context.hpp"
#include "runtime/os/resource_limits.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// What is wrong with one of the files.
failure complaint(const char* option, const std::string& path,
                  const std::string& what) {
  return {errc::bad_argument, formatted("{}: \"{}\" {}", option, path, what)};
}

/// The first of OpenSSL's complaints on this thread; forgets the others.
std::string reason() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  const auto* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "no reason is known" : text;
}

result<void> check_readable(const char* option, const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0)
    return {};
  return complaint(option, path, "cannot be read: " + system_error_text(errno));
}

result<void> check_private(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && (facts.st_mode & S_IROTH) != 0)
    return complaint("--tls-key", path,
                     "can be read by other users; protect it with chmod 600");
  return {};
}

/// OpenSSL would ask the terminal for it.
int refuse_password(char*, int, int, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

result<void> use_certificate(SSL_CTX* x, const std::string& path) {
  constexpr auto option = "--tls-cert";
  if (auto ok = check_readable(option, path); !ok)
    return ok;
  if (SSL_CTX_use_certificate_chain_file(x, path.c_str()) != 1)
    return complaint(option, path,
                     formatted("holds no certificate in PEM ({})", reason()));
  const auto* certificate = SSL_CTX_get0_certificate(x);
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
    return complaint(option, path, "has expired; renew it");
  return {};
}

result<void> use_key(SSL_CTX* x, const tls_options& files) {
  constexpr auto option = "--tls-key";
  const auto& path = files.key_file;
  if (auto ok = check_readable(option, path); !ok)
    return ok;
  if (auto ok = check_private(path); !ok)
    return ok;
  auto is_locked = false;
  SSL_CTX_set_default_passwd_cb(x, refuse_password);
  SSL_CTX_set_default_passwd_cb_userdata(x, &is_locked);
  const auto done
    = SSL_CTX_use_PrivateKey_file(x, path.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(x, nullptr);
  if (is_locked)
    return complaint(option, path,
                     "is encrypted; give a key without a password, as written "
                     "by: openssl pkey -in FILE -out KEY");
  const auto why = done ? std::string{} : reason();
  if (!done && why.find("mismatch") == std::string::npos)
    return complaint(option, path,
                     formatted("holds no private key in PEM ({})", why));
  if (!done || SSL_CTX_check_private_key(x) != 1)
    return complaint(option, path,
                     formatted("is not the key of the certificate in \"{}\"",
                               files.certificate_file));
  return {};
}

result<void> use_authority(SSL_CTX* x, const std::string& path) {
  constexpr auto option = "--tls-ca";
  if (auto ok = check_readable(option, path); !ok)
    return ok;
  if (SSL_CTX_load_verify_file(x, path.c_str()) != 1)
    return complaint(option, path,
                     formatted("holds no certificate in PEM ({})", reason()));
  return {};
}

} // namespace

bool names_host(X509& certificate, const std::string& host) {
  constexpr auto flags = unsigned{X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
                                  | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS};
  const auto bare = host.substr(0, host.find('%'));
  const auto found
    = X509_check_ip_asc(&certificate, bare.c_str(), flags) == 1
      || X509_check_host(&certificate, bare.data(), bare.size(), flags, nullptr)
           == 1;
  ERR_clear_error(); // A name is no address.
  return !bare.empty() && found;
}

void tls_identity::free_context::operator()(SSL_CTX* x) const {
  SSL_CTX_free(x);
}

result<std::shared_ptr<const tls_identity>>
tls_identity::load(const tls_options& files) {
  auto client = make_context(link_side::client, files);
  if (!client)
    return client.error();
  auto server = make_context(link_side::server, files);
  if (!server)
    return server.error();
  return std::shared_ptr<const tls_identity>{new tls_identity{
    files.certificate_file, std::move(*client), std::move(*server)}};
}

result<tls_identity::context>
tls_identity::make_context(link_side side, const tls_options& files) {
  ERR_clear_error();
  auto out = context{new_tls_context(side)};
  auto* x = out.get();
  if (auto ok = use_certificate(x, files.certificate_file); !ok)
    return ok.error();
  if (auto ok = use_key(x, files); !ok)
    return ok.error();
  if (auto ok = use_authority(x, files.authority_file); !ok)
    return ok.error();
  // OpenSSL checks that the certificate may be used by the other side's role.
  SSL_CTX_set_verify(x, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     nullptr);
  return out;
}

SSL_CTX* tls_identity::context_of(link_side side) const {
  return side == link_side::client ? client_.get() : server_.get();
}

bool tls_identity::names(const std::string& host) const {
  return names_host(*SSL_CTX_get0_certificate(client_.get()), host);
}

failure tls_identity::does_not_name(const std::string& host,
                                    const std::string& role) const {
  return {
    errc::certificate_mismatch,
    formatted("the certificate \"{}\" does not name {}, {}; add it to the "
              "certificate's subject alternative names",
              path_, host, role)};
}

} // namespace actorrun::detail
