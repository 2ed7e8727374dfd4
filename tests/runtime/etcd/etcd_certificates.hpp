// An authority, and its certificate for both ends, as PEM files.
#pragma once

#include "tests/runtime/folders.hpp"
#include "tests/support/skip.hpp"

#include <cstdlib>
#include <string>

namespace actorrun::detail {

class certificates {
public:
  certificates() {
    is_made_
      = run(make_self_signed("ca", "/CN=authority"))
        && run(make_self_signed("foreign", "/CN=foreign"))
        && run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
               " -subj /CN=node -keyout "
               + key() + " -out " + (folder_ / "node.csr"))
        && run("printf 'subjectAltName=IP:127.0.0.1' > "
               + (folder_ / "extensions"))
        && run(sign(2, certificate())) && run(sign(0, expired_certificate()))
        && run("openssl pkey -aes128 -passout pass:secret -in " + key()
               + " -out " + locked_key());
    if (!is_made_)
      actorrun::test::skip("openssl", "openssl(1) cannot make certificates");
  }

  /// False if there are none: the test case cannot be run.
  explicit operator bool() const { return is_made_; }

  std::string authority() const { return folder_ / "ca.pem"; }
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

private:
  std::string make_self_signed(const std::string& name,
                               const std::string& subject) const {
    return "openssl req -x509 -days 2 -newkey ec -pkeyopt"
           " ec_paramgen_curve:P-256 -nodes -subj "
           + subject + " -keyout " + (folder_ / (name + ".key")) + " -out "
           + (folder_ / (name + ".pem"));
  }

  std::string sign(int days, const std::string& out) const {
    return "openssl x509 -req -days " + std::to_string(days) + " -in "
           + (folder_ / "node.csr") + " -CA " + authority() + " -CAkey "
           + (folder_ / "ca.key") + " -CAcreateserial -extfile "
           + (folder_ / "extensions") + " -out " + out;
  }

  static bool run(const std::string& command) {
    return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0;
  }

  test_folders::folder folder_;
  bool is_made_ = false;
};

} // namespace actorrun::detail
