// Which options of the back ends `static` and `etcd` go together.
#include "runtime/options.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::options_rendezvous_test {

using namespace std::chrono_literals;

namespace {

job_options etcd_job() {
  auto x = job_options{};
  x.rendezvous = endpoint{"etcd1", 2'379};
  x.backend = rendezvous_backend::etcd;
  return x;
}

job_options fixed_job() {
  auto x = job_options{};
  x.rendezvous = endpoint{"n1", 29'500};
  x.backend = rendezvous_backend::fixed;
  x.agent_count_min = x.agent_count_max = 2;
  return x;
}

agent_options agent_of(std::optional<uint32_t> rank) {
  auto x = agent_options{};
  x.workers.command = {"true"};
  x.node_rank = rank;
  return x;
}

std::string refused(const job_options& x) {
  const auto ok = validate(x);
  REQUIRE_FALSE(ok);
  CHECK(ok.error().code == errc::bad_argument);
  return ok.error().text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("options: etcd's lease has whole seconds, 2 to 600", "[runtime]") {
  auto x = etcd_job();
  for (const auto good : {2'000ms, 3'000ms, 600'000ms}) {
    x.etcd.lease = good;
    CHECK(validate(x));
  }
  for (const auto bad :
       {0ms, 1'000ms, 1'999ms, 2'500ms, 600'001ms, 601'000ms}) {
    x.etcd.lease = bad;
    CHECK(has(refused(x), "lease_ttl"));
  }
}

TEST_CASE("options: etcd's lease outlasts the guard", "[runtime]") {
  auto x = etcd_job();
  x.etcd.lease = 2s;
  x.timeouts.fence_guard = 1'999ms;
  CHECK(validate(x));
  x.timeouts.fence_guard = 2'000ms;
  CHECK(has(refused(x), "fence_guard"));
}

TEST_CASE("options: etcd's files go together", "[runtime]") {
  auto x = etcd_job();
  x.etcd.secure = true;
  x.etcd.certificate_file = "c";
  CHECK(has(refused(x), "cert and key"));
  x.etcd.key_file = "k";
  CHECK(validate(x));
  x.etcd.secure = false;
  CHECK(has(refused(x), "protocol=https"));
  x.etcd.secure = true;
  x.etcd.user = "me";
  CHECK(has(refused(x), "password_file"));
  x.etcd.password_file = std::string(certificate_path_length_max, 'x');
  CHECK(validate(x));
  x.etcd.password_file += 'x';
  CHECK(has(refused(x), "password_file"));
}

TEST_CASE("options: etcd's prefix begins with a slash and is a label",
          "[runtime]") {
  auto x = etcd_job();
  for (const auto* good : {"/", "/a", "/a/b/"}) {
    x.etcd.prefix = good;
    CHECK(validate(x));
  }
  for (const auto* bad : {"", "a", "/a\n"}) {
    x.etcd.prefix = bad;
    CHECK(has(refused(x), "etcd_prefix"));
  }
  x.etcd.prefix = "/" + std::string(label_length_max - 1, 'x');
  CHECK(validate(x));
  x.etcd.prefix += 'x';
  CHECK(has(refused(x), "etcd_prefix"));
}

TEST_CASE("options: etcd has an address, for one node too", "[runtime]") {
  auto x = etcd_job();
  CHECK(validate(x));
  x.rendezvous.reset();
  CHECK(has(refused(x), "etcd server"));
}

TEST_CASE("options: an etcd cluster has up to 16 members, each with an address",
          "[runtime]") {
  auto x = etcd_job();
  x.etcd.more_members.assign(etcd_member_count_max - 1, {"etcd2", 2'379});
  CHECK(validate(x));
  x.etcd.more_members.push_back({"etcd2", 2'379});
  CHECK(has(refused(x), "more than 16 members"));
  x.etcd.more_members = {{"a b", 2'379}};
  CHECK(has(refused(x), "\"a b\""));
  x.etcd.more_members = {{"etcd2", 0}};
  CHECK(has(refused(x), "port is 0"));
  auto other = fixed_job();
  other.etcd.more_members = {{"n2", 1}};
  CHECK(has(refused(other), "for etcd clusters"));
}

TEST_CASE("options: options of etcd apply only to etcd", "[runtime]") {
  auto x = etcd_job();
  x.etcd.lease = 1s;
  x.backend = rendezvous_backend::native;
  CHECK(validate(x));
}

TEST_CASE("options: with fixed ranks the number of nodes is fixed",
          "[runtime]") {
  auto x = fixed_job();
  CHECK(validate(x));
  x.agent_count_min = 1;
  CHECK(has(refused(x), "fixed"));
}

TEST_CASE("options: a node rank is needed exactly where ranks are fixed",
          "[runtime]") {
  CHECK(validate(fixed_job(), agent_of(0)));
  CHECK(validate(fixed_job(), agent_of(1)));
  CHECK_FALSE(validate(fixed_job(), agent_of(2)));
  CHECK_FALSE(validate(fixed_job(), agent_of(std::nullopt)));
  CHECK_FALSE(validate(etcd_job(), agent_of(0)));
  CHECK(validate(etcd_job(), agent_of(std::nullopt)));
  auto broken = fixed_job();
  broken.agent_count_max = 0;
  CHECK_FALSE(validate(broken, agent_of(0)));
  auto idle = agent_of(0);
  idle.workers.command.clear();
  CHECK_FALSE(validate(fixed_job(), idle));
}

} // namespace actorrun::test::options_rendezvous_test
