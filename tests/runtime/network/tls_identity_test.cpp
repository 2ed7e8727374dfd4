#include "runtime/network/tls_identity.hpp"
#include "tests/runtime/certificates.hpp"

#include <filesystem>
#include <string>

namespace actorrun::test::tls_identity_test {

using namespace actorrun::detail;

namespace {

std::string trouble_with(const tls_options& files) {
  const auto x = tls_identity::load(files);
  if (x)
    return {};
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("tls_identity: names are the subject alternative ones only",
          "[runtime]") {
  const auto files = certificates{};
  if (!files)
    return;
  const auto uut = tls_identity::load(files.options());
  REQUIRE(uut);
  CHECK((*uut)->names("127.0.0.1"));
  CHECK((*uut)->names("localhost"));
  CHECK((*uut)->names("n1.job.svc"));
  CHECK_FALSE((*uut)->names("a.n1.job.svc"));
  CHECK_FALSE((*uut)->names("node")); // Its common name.
  CHECK_FALSE((*uut)->names("127.0.0.2"));
  CHECK_FALSE((*uut)->names(""));
  const auto v6 = tls_identity::load(files.options_for("IP:fe80::1"));
  REQUIRE(v6);
  CHECK((*v6)->names("fe80::1%eth0"));
  CHECK((*v6)->names("fe80:0::1"));
}

TEST_CASE("tls_identity: each file that is no good is named with its option",
          "[runtime]") {
  const auto files = certificates{};
  if (!files)
    return;
  const auto good = files.options();
  const auto with = [&](auto member, const std::string& path) {
    auto x = good;
    x.*member = path;
    return trouble_with(x);
  };
  const auto text = files.file("no PEM");
  const auto missing = text + ".missing";
  struct kind {
    std::string tls_options::*member;
    const char* option;
  };
  for (const auto& [member, option] :
       {kind{&tls_options::certificate_file, "--tls-cert: "},
        kind{&tls_options::key_file, "--tls-key: "},
        kind{&tls_options::authority_file, "--tls-ca: "}}) {
    for (const auto& path : {text, missing, std::string{"/"}}) {
      const auto what = with(member, path);
      INFO(what);
      CHECK(what.starts_with(option));
      CHECK(has(what, path));
    }
    CHECK(has(with(member, missing), "No such file"));
  }
  CHECK(has(with(&tls_options::certificate_file, files.expired_certificate()),
            "expired"));
  CHECK(has(with(&tls_options::key_file, files.locked_key()), "encrypted"));
  CHECK(has(with(&tls_options::key_file, files.foreign_key()),
            "not the key of the certificate"));
  std::filesystem::permissions(files.key(), std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  CHECK(has(trouble_with(good), "other users"));
}

} // namespace actorrun::test::tls_identity_test
