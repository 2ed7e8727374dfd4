// Loads the certificate by which this node proves who it is, and the authority
// that it trusts.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/link_side.hpp"
#include "runtime/options.hpp"

#include <openssl/types.h>

#include <memory>
#include <string>

namespace actorrun::detail {

/// Whether a certificate names a host: by a name or an address among its subject
/// alternative names (RFC 6125; a subject's common name does not count).
/// @param host A name, or a numeric address with or without its scope.
bool names_host(X509& certificate, const std::string& host);

/// Thread-safe. Reads the files once: a certificate that is replaced later serves
/// processes that start later.
class tls_identity {
public:
  /// @pre the options name three files
  /// @retval errc::bad_argument  a file cannot be read or holds no PEM of its
  ///         kind, other users can read the key, the key is encrypted or another
  ///         certificate's, or the certificate has expired; the text names the
  ///         option and the file
  static result<std::shared_ptr<const tls_identity>>
  load(const tls_options& files);

  /// With it both sides show a certificate of the authority, for this use.
  SSL_CTX* context_of(link_side side) const;

  /// Whether our own certificate names this host.
  bool names(const std::string& host) const;

  /// Explains that it does not.
  /// @param role What the host is to the others: `--rdzv-endpoint`, …
  failure does_not_name(const std::string& host, const std::string& role) const;

private:
  struct free_context {
    void operator()(SSL_CTX* x) const;
  };
  using context = std::unique_ptr<SSL_CTX, free_context>;

  tls_identity(std::string path, context client, context server)
    : path_(std::move(path)), client_(std::move(client)),
      server_(std::move(server)) {}

  static result<context> make_context(link_side side, const tls_options& files);

  std::string path_; ///< Of the certificate.
  context client_;
  context server_;
};

} // namespace actorrun::detail
