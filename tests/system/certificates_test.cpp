// Jobs whose nodes know each other by certificates.
#include "tests/runtime/certificates.hpp"
#include "tests/support/catch.hpp"
#include "tests/system/healthy.hpp"
#include "tests/system/scene.hpp"

namespace actorrun::test::certificates_test {

namespace {

words options_of(const tls_options& x) {
  return {"--tls-cert=" + x.certificate_file, "--tls-key=" + x.key_file,
          "--tls-ca=" + x.authority_file};
}

struct certified_job : scene {
  /// @returns whether there are certificates
  bool begin() {
    if (!files)
      return false;
    agent({.nodes = "1:3", .more = options_of(files.options())});
    agent({.nodes = "1:3", .more = options_of(files.options())});
    before = await_world(4);
    return true;
  }

  /// Starts a joiner; it must be refused, say so, and the job go on.
  void refuse(const words& more, const std::string& because) {
    auto& joiner = agent({.nodes = "1:3", .more = more});
    CHECK(joiner.wait() == 4);
    INFO(joiner.output());
    CHECK(count_of(joiner.output(), because) >= 1);
    CHECK(await_world(4).front().pid == before.front().pid);
  }

  detail::certificates files;
  worker_records before;
};

} // namespace

TEST_CASE_METHOD(certified_job,
                 "certificates: agents with them form a job; one without, of "
                 "another authority, or for another address is refused",
                 "[certificates]") {
  if (!begin())
    return;
  CHECK(count_of(programs().front().output(), "has no secret") == 0);
  refuse({}, "--tls-cert");
  refuse(options_of(files.foreign_options()), "does not accept");
  refuse(options_of(files.options_for("DNS:localhost")),
         "does not name 127.0.0.1");
  auto named = options_of(files.options_for("DNS:localhost"));
  named.emplace_back("--local-addr=localhost");
  agent({.nodes = "1:3", .more = named});
  CHECK(await_world(6).size() == 6);
}

TEST_CASE_METHOD(certified_job,
                 "certificates: actorctl needs them from afar, and not on the "
                 "host",
                 "[certificates]") {
  if (!begin())
    return;
  CHECK(await_status(is_healthy).at("agents").size() == 2);
  auto code = 0;
  const auto ask = [&](const words& more) {
    auto command = words{ACTORCTL_PROGRAM, "status",
                         "--rdzv-endpoint=" + endpoint(), "--rdzv-id=job"};
    command.insert(command.end(), more.begin(), more.end());
    return read(command, &code);
  };
  CHECK(count_of(ask(options_of(files.options())), "job") >= 1);
  CHECK(code == 0);
  CHECK(count_of(ask({}), "--tls-cert") >= 1);
  CHECK(code == 4);
  CHECK(count_of(ask(options_of(files.foreign_options())), "certificate") >= 1);
  CHECK(code == 4);
}

TEST_CASE_METHOD(scene,
                 "certificates: a node that hosts the coordinator under "
                 "another name does not begin",
                 "[certificates]") {
  const auto files = detail::certificates{};
  if (!files)
    return;
  auto& x = agent({.more = options_of(files.options_for("DNS:n1"))});
  CHECK(x.wait() == 4);
  CHECK(count_of(x.output(), "does not name 127.0.0.1") >= 1);
}

} // namespace actorrun::test::certificates_test
