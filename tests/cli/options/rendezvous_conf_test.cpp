#include "cli/options/rendezvous_conf.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::rendezvous_conf_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

namespace {

rendezvous_conf read(const std::string& text) {
  const auto x = parse_rendezvous_conf(text);
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  return *x;
}

std::string refused(const std::string& text) {
  INFO(text);
  const auto x = parse_rendezvous_conf(text);
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

using spans = core::timeouts;

struct {
  std::string name;
  std::chrono::milliseconds spans::*field;
} const span_keys[] = {
  {"join_timeout", &spans::join},
  {"last_call_timeout", &spans::last_call},
  {"close_timeout", &spans::close},
  {"heartbeat_timeout", &spans::connect},
  {"keep_alive_interval", &spans::keep_alive_interval},
  {"read_timeout", &spans::seek},
  {"quiet_period", &spans::quiet},
  {"join_settle", &spans::join_settle},
  {"rejoin_backoff", &spans::rejoin_backoff},
  {"fence_guard", &spans::fence_guard},
};

} // namespace

TEST_CASE("rendezvous conf: nothing gives the defaults", "[cli]") {
  for (const auto* text : {"", "  "}) {
    const auto x = read(text);
    CHECK(x.timeouts == spans{});
    CHECK(x.place == coordinator_place::automatic);
    CHECK(x.warnings.empty());
  }
}

TEST_CASE("rendezvous conf: every time has one key", "[cli]") {
  for (const auto& key : span_keys) {
    INFO(key.name);
    auto expected = spans{};
    expected.*key.field = 7s;
    expected.keep_alive_is_given = key.field == &spans::keep_alive_interval;
    expected.seek_is_given = key.field == &spans::seek;
    CHECK(read(key.name + "=7").timeouts == expected);
    CHECK(read(key.name + "=7s").timeouts == expected);
    expected.*key.field = 250ms;
    CHECK(read(key.name + "=250ms").timeouts == expected);
    CHECK(read(key.name + "=0.25").timeouts == expected);
    expected.*key.field = timeout_max;
    CHECK(read(key.name + "=604800").timeouts == expected);
    for (const auto* wrong : {"0", "-1", "x", "604801"})
      CHECK(refused(key.name + "=" + wrong).starts_with(key.name + ": "));
  }
}

TEST_CASE("rendezvous conf: attempts are a count", "[cli]") {
  const auto key = std::string{"keep_alive_max_attempt="};
  CHECK(read(key + "1").timeouts.keep_alive_attempts == 1);
  CHECK(read(key + "3").timeouts.keep_alive_is_given);
  CHECK(read("keep_alive_interval=300ms").timeouts.keep_alive_is_given);
  CHECK_FALSE(read("read_timeout=60").timeouts.keep_alive_is_given);
  CHECK(read("read_timeout=60").timeouts.seek_is_given);
  CHECK_FALSE(read("join_timeout=60").timeouts.seek_is_given);
  CHECK(read(key + "1000").timeouts.keep_alive_attempts
        == keep_alive_attempts_max);
  for (const auto* wrong : {"0", "1001", "2.5", "3s"})
    CHECK(has(refused(key + wrong), "keep_alive_max_attempt: "));
}

TEST_CASE("rendezvous conf: is_host places the coordinator", "[cli]") {
  CHECK(read("is_host=True").place == coordinator_place::here);
  CHECK(read("is_host=0").place == coordinator_place::elsewhere);
  CHECK(has(refused("is_host=2"), "neither yes nor no"));
}

TEST_CASE("rendezvous conf: only tcp can hold the rendezvous", "[cli]") {
  CHECK(read("store_type=tcp").timeouts == spans{});
  CHECK(has(refused("store_type=file"), "only tcp"));
  CHECK(has(refused("store_type=x"), "\"x\""));
}

TEST_CASE("rendezvous conf: timeout is taken as join_timeout", "[cli]") {
  using enum rendezvous_backend;
  const auto x = read("timeout=9");
  CHECK(x.timeouts.join == 9s);
  CHECK(remarks_on(x, native)
        == std::vector<std::string>{"--rdzv-conf: timeout is taken as "
                                    "join_timeout=9; write join_timeout"});
  // torchrun reads it there.
  CHECK(remarks_on(x, fixed).empty());
  CHECK(remarks_on(x, etcd).empty());
  for (const auto* both :
       {"timeout=9,join_timeout=4", "join_timeout=4,timeout=9"}) {
    CHECK(read(both).timeouts.join == 4s);
    CHECK(remarks_on(read(both), fixed).size() == 1);
  }
}

TEST_CASE("rendezvous conf: heartbeat is taken as heartbeat_timeout", "[cli]") {
  const auto x = read("heartbeat=7");
  CHECK(x.timeouts.connect == 7s);
  CHECK(x.warnings
        == std::vector<std::string>{
          "--rdzv-conf: heartbeat is taken as heartbeat_timeout=7; write"
          " heartbeat_timeout"});
  const auto y = read("heartbeat=7,heartbeat_timeout=4,timeout=9");
  CHECK(y.timeouts.connect == 4s);
  CHECK(y.timeouts.join == 9s);
  CHECK(remarks_on(y, rendezvous_backend::native).size() == 2);
}

TEST_CASE("rendezvous conf: one pair of quotes around the whole is dropped",
          "[cli]") {
  for (const auto* text : {"\"timeout=9,is_host=1\"", "'timeout=9,is_host=1'",
                           " \" timeout=9,is_host=1 \" "}) {
    CHECK(read(text).timeouts.join == 9s);
    CHECK(read(text).place == coordinator_place::here);
    CHECK(read(text).unknown_keys.empty());
  }
  CHECK(read("''").timeouts == spans{});
  // These are no pair around the whole.
  CHECK(read("'a'=1,b='2'").unknown_keys
        == std::vector<std::string>{"'a'", "b"});
  CHECK(read("\"a=1").unknown_keys == std::vector<std::string>{"\"a"});
}

TEST_CASE("rendezvous conf: pairs are trimmed, the last of a key counts",
          "[cli]") {
  const auto x = read(" join_timeout = 1 , is_host=1,join_timeout= 2 ");
  CHECK(x.timeouts.join == 2s);
  CHECK(x.place == coordinator_place::here);
}

TEST_CASE("rendezvous conf: malformed pairs are refused", "[cli]") {
  for (const auto* text : {",", "=1", "join_timeout=1,", ",join_timeout=1",
                           "join_timeout=1,,is_host=1", "a=1, ,b=2"})
    CHECK(has(refused(text), "key=value"));
  for (const auto* text : {"join_timeout", "join_timeout=", "join_timeout= "})
    CHECK(refused(text)
          == "the key \"join_timeout\" has no value; give it as"
             " join_timeout=VALUE");
  CHECK(has(refused("join_timeout=1=2"), "\"1=2\""));
}

TEST_CASE("rendezvous conf: unknown keys have no effect, with a warning",
          "[cli]") {
  const auto x = read("use_libuv=0,join_timeout=3,joint_timeout=9");
  CHECK(x.timeouts.join == 3s);
  CHECK(remarks_on(x, rendezvous_backend::native)
        == std::vector<std::string>{
          "--rdzv-conf: the key \"joint_timeout\" is unknown and has no effect;"
          " is join_timeout meant?",
          "--rdzv-conf: the key \"use_libuv\" is unknown and has no effect"});
}

TEST_CASE("rendezvous conf: actorctl refuses unknown keys", "[cli]") {
  const auto refusal = [](const std::string& text) {
    const auto done = check_conf(read(text), rendezvous_backend::native);
    return done ? "" : done.error().text;
  };
  CHECK(refusal("joint_timeout=1")
        == "--rdzv-conf: the key \"joint_timeout\" is unknown; is join_timeout"
           " meant?");
  const auto text = refusal("pause=1");
  CHECK(has(text, "\"pause\" is unknown"));
  for (const auto& key : span_keys)
    CHECK(has(text, key.name));
  CHECK(has(text, "is_host"));
}

TEST_CASE("rendezvous conf: a setting with an option of its own is no key",
          "[cli]") {
  const std::pair<std::string, const char*> options[] = {
    {"backend", "--rdzv-backend"}, {"endpoint", "--rdzv-endpoint"},
    {"run_id", "--rdzv-id"},       {"min_nodes", "--nnodes"},
    {"max_nodes", "--nnodes"},     {"local_addr", "--local-addr"},
  };
  for (const auto& [key, option] : options)
    CHECK(has(refused(key + "=x"), option));
}

// -- etcd ---------------------------------------------------------------------

TEST_CASE("rendezvous conf: etcd is used without TLS by default", "[cli]") {
  CHECK(read("").etcd == etcd_options{});
  CHECK(read("protocol=http").etcd == etcd_options{});
  CHECK(read("protocol=https").etcd.secure);
  CHECK(has(refused("protocol=ftp"), "neither http nor https"));
}

TEST_CASE("rendezvous conf: etcd's files have two names each and imply TLS",
          "[cli]") {
  const auto legacy = read("cacert=a,cert=b,key=c");
  const auto v2 = read("ca_cert=a,ssl_cert=b,ssl_cert_key=c,protocol=https");
  CHECK(legacy.etcd.secure);
  CHECK(legacy.etcd.authority_file == "a");
  CHECK(legacy.etcd.certificate_file == "b");
  CHECK(legacy.etcd.key_file == "c");
  CHECK(legacy.etcd == v2.etcd);
  CHECK(legacy.etcd_keys == std::vector<std::string>{"cacert", "cert", "key"});
}

TEST_CASE("rendezvous conf: etcd's other keys", "[cli]") {
  const auto x = read("user=me,password_file=p,etcd_prefix=/jobs,lease_ttl=30");
  CHECK(x.etcd.user == "me");
  CHECK(x.etcd.password_file == "p");
  CHECK(x.etcd.prefix == "/jobs");
  CHECK(x.etcd.lease == 30s);
  CHECK(has(refused("lease_ttl=x"), "lease_ttl"));
}

TEST_CASE("rendezvous conf: keys of another back end are refused", "[cli]") {
  using enum rendezvous_backend;
  const auto why_not = [](const std::string& text, rendezvous_backend backend) {
    const auto done = check_conf(read(text), backend);
    return done ? "" : done.error().text;
  };
  CHECK(why_not("lease_ttl=5,join_timeout=3", etcd).empty());
  CHECK(has(why_not("join_timeout=3,lease_ttl=5", native), "\"lease_ttl\""));
  CHECK(has(why_not("cert=x,key=y", fixed), "\"cert\""));
  CHECK(why_not("is_host=yes", native).empty());
  CHECK(why_not("is_host=no", etcd).empty());
  CHECK(has(why_not("is_host=yes", fixed), "is_host"));
  // In scripts for torchrun they have no effect.
  const auto x = read("cert=x,is_host=yes");
  CHECK(remarks_on(x, fixed)
        == std::vector<std::string>{
          "--rdzv-conf: the key \"cert\" is for --rdzv-backend=etcd; it has no"
          " effect",
          "--rdzv-conf: with the backend static the node of rank 0 hosts the"
          " coordinator; leave out is_host; it has no effect"});
  CHECK(remarks_on(x, etcd).empty());
}

} // namespace actorrun::test::rendezvous_conf_test
