// Makes an authority and certificates of it, as PEM files.
#pragma once

#include "runtime/options.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/skip.hpp"

#include <cstdlib>
#include <string>

namespace actorrun::detail {

/// Certificates for both ends of links on this host.
class certificates {
public:
  certificates() {
    is_made_
      = run(make_self_signed("ca", "/CN=authority"))
        && run(make_self_signed("foreign", "/CN=foreign")) && run(new_key())
        && sign(certificate(), "IP:127.0.0.1,DNS:localhost,DNS:*.job.svc")
        && sign(expired_certificate(), "IP:127.0.0.1", "", 0)
        && run("openssl pkey -aes128 -passout pass:secret -in " + key()
               + " -out " + locked_key());
    if (!is_made_)
      actorrun::test::skip("openssl", "openssl(1) cannot make certificates");
  }

  /// False if there are none: the test case cannot be run.
  explicit operator bool() const { return is_made_; }

  std::string authority() const { return folder_ / "ca.pem"; }

  /// For 127.0.0.1, localhost and *.job.svc.
  std::string certificate() const { return folder_ / "node.pem"; }
  std::string key() const { return folder_ / "node.key"; }

  /// For the same key; expired in the moment in which it was made, as OpenSSL
  /// 3.5 makes none that expired before.
  std::string expired_certificate() const { return folder_ / "expired.pem"; }

  /// The same key, encrypted with a password.
  std::string locked_key() const { return folder_ / "locked.key"; }

  /// Of an authority that is not trusted.
  std::string foreign_certificate() const { return folder_ / "foreign.pem"; }
  std::string foreign_key() const { return folder_ / "foreign.key"; }

  tls_options options() const { return {certificate(), key(), authority()}; }
  tls_options foreign_options() const {
    return {foreign_certificate(), foreign_key(), authority()};
  }

  /// A further certificate for the same key.
  /// @param names Subject alternative names as in `IP:10.0.0.1,DNS:n1`.
  /// @param usage Extended key usage as in `clientAuth`; empty: any.
  tls_options options_for(const std::string& names,
                          const std::string& usage = {}) const {
    const auto path = folder_ / "another.pem";
    REQUIRE(sign(path, names, usage));
    return {path, key(), authority()};
  }

  /// A file of this content that other users cannot read.
  std::string file(const std::string& content) const {
    const auto path = folder_ / "file";
    std::ofstream{path} << content;
    return path;
  }

private:
  std::string make_self_signed(const std::string& name,
                               const std::string& subject) const {
    return "openssl req -x509 -days 2 -newkey ec -pkeyopt"
           " ec_paramgen_curve:P-256 -nodes -addext"
           " subjectAltName=IP:127.0.0.1 -subj "
           + subject + " -keyout " + (folder_ / (name + ".key")) + " -out "
           + (folder_ / (name + ".pem"));
  }

  std::string new_key() const {
    return "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
           " -subj /CN=node -keyout "
           + key() + " -out " + (folder_ / "node.csr");
  }

  bool sign(const std::string& out, const std::string& names,
            const std::string& usage = {}, int days = 2) const {
    const auto extensions = folder_ / "extensions";
    std::ofstream{extensions}
      << "subjectAltName=" << names << "\n"
      << (usage.empty() ? "" : "extendedKeyUsage=" + usage + "\n");
    return run("openssl x509 -req -days " + std::to_string(days) + " -in "
               + (folder_ / "node.csr") + " -CA " + authority() + " -CAkey "
               + (folder_ / "ca.key") + " -CAcreateserial -extfile "
               + extensions + " -out " + out);
  }

  static bool run(const std::string& command) {
    return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0;
  }

  test_folders::folder folder_;
  bool is_made_ = false;
};

} // namespace actorrun::detail
