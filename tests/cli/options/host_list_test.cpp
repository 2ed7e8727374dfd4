#include "cli/options/host_list.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>

namespace actorrun::test::host_list_test {

namespace {

using namespace actorrun::cli;

using shares = std::vector<host_share>;

shares hosts(const std::string& text) {
  const auto x = parse_hosts(text);
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  return *x;
}

shares lines(const std::string& text) {
  const auto x = parse_host_file(text);
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  return *x;
}

std::string refused(const result<shares>& x) {
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

TEST_CASE("host_list: hosts with and without a number", "[cli]") {
  CHECK(hosts("a:4,b,c:2") == shares{{"a", 4, 0}, {"b", 0, 1}, {"c", 2, 0}});
  CHECK(hosts(" a , b:1 ") == shares{{"a", 0, 1}, {"b", 1, 0}});
  CHECK(hosts("n-1.example.org:4096") == shares{{"n-1.example.org", 4096, 0}});
}

TEST_CASE("host_list: users and addresses", "[cli]") {
  CHECK(hosts("me@a:2") == shares{{"me@a", 2, 0}});
  CHECK(hosts("10.0.0.1:2,[fd00::1]:3,[fd00::2],me@[::1]:4")
        == shares{{"10.0.0.1", 2, 0},
                  {"fd00::1", 3, 0},
                  {"fd00::2", 0, 1},
                  {"me@::1", 4, 0}});
}

TEST_CASE("host_list: a host that comes again adds to the first", "[cli]") {
  CHECK(hosts("a:2,b,a:3") == shares{{"a", 5, 0}, {"b", 0, 1}});
  CHECK(hosts("a,a,a") == shares{{"a", 0, 3}});
  CHECK(refused(parse_hosts("a:4096,a")) == "a has more than 4096 workers");
}

TEST_CASE("host_list: what is no host is refused", "[cli]") {
  CHECK(refused(parse_hosts("a,,b")) == "in \"a,,b\", a host is missing");
  CHECK(refused(parse_hosts("")) == "in \"\", a host is missing");
  CHECK(refused(parse_hosts("a:0"))
          .find("in \"a:0\", the number of workers is"
                " wrong: ")
        == 0);
  for (const auto* text :
       {"a:", "a:x", "a:4097", "a:-1", "a b", "a/b", "-oProxyCommand=x", "a;b",
        "$(x)", "fd00::1", "[fd00::1", "[]:3", "[a]b", "@a", "-l@a", "a@",
        "a@b@c", "x y@a", "a:2:3"}) {
    INFO(text);
    CHECK(refused(parse_hosts(text)).find(text) != std::string::npos);
  }
}

TEST_CASE("host_list: no more hosts than one program connects to", "[cli]") {
  auto text = std::string{"n0"};
  for (size_t i = 1; i < host_count_max; ++i)
    text += ",n" + std::to_string(i);
  CHECK(hosts(text).size() == host_count_max);
  CHECK(hosts(text + ",n0").size() == host_count_max);
  CHECK(refused(parse_hosts(text + ",x")).find("more than 1024 hosts")
        != std::string::npos);
}

TEST_CASE("host_list: files in the forms of Hydra and Open MPI", "[cli]") {
  CHECK(lines("# all of them\n"
              "a\n"
              "\n"
              "  b:4   # big\r\n"
              "c slots=2\n"
              "d\tslots=2 max_slots=8\n"
              "e max-slots=3\n"
              "f slots=2 user=me")
        == shares{{"a", 0, 1},
                  {"b", 4, 0},
                  {"c", 2, 0},
                  {"d", 2, 0},
                  {"e", 3, 0},
                  {"me@f", 2, 0}});
}

TEST_CASE("host_list: a file that repeats a host for each worker", "[cli]") {
  CHECK(lines("a\na\nb\nb\na\n") == shares{{"a", 0, 3}, {"b", 0, 2}});
}

TEST_CASE(
  "host_list: U16 a file with blanks at signs or a mark of its encoding",
  "[cli]") {
  CHECK(lines("a slots = 2\nb slots= 3 max_slots\t=4\n")
        == shares{{"a", 2, 0}, {"b", 3, 0}});
  CHECK(lines("\xef\xbb\xbf"
              "a:4\r\nb\r\n")
        == shares{{"a", 4, 0}, {"b", 0, 1}});
  CHECK(refused(parse_host_file(std::string{"\xff\xfe"
                                            "a\0\n\0",
                                            6}))
        == "it is UTF-16 text; save it as UTF-8");
}

TEST_CASE("host_list: a line that is none is named", "[cli]") {
  CHECK(refused(parse_host_file("")) == "there is no host in it");
  CHECK(refused(parse_host_file("# a\n\n")) == "there is no host in it");
  CHECK(refused(parse_host_file("a\nb slots=0\n")).find("line 2: slots: ")
        == 0);
  CHECK(refused(parse_host_file("a sockets=2"))
        == "line 1: \"sockets=2\" is not understood; behind a host there may be"
           " slots=N, max_slots=N and user=NAME");
  CHECK(refused(parse_host_file("a slots=4 max_slots=2"))
        == "line 1: 4 workers are more than max_slots=2");
  CHECK(refused(parse_host_file("a:2 slots=2"))
        == "line 1: there are two numbers of workers");
  CHECK(refused(parse_host_file("x@a user=y"))
        == "line 1: there are two names of users");
  for (const auto* text :
       {"a b", "a user=", "a user=-l", "a slots", "a slots ="})
    CHECK(refused(parse_host_file(text)).find("line 1: ") == 0);
}

TEST_CASE("host_list: damaged texts do no harm", "[cli]") {
  auto random = std::mt19937{4711};
  const auto good
    = std::string{"me@a:4,[fd00::1]:2\nb slots=2 max_slots=8 #x\n"};
  for (auto i = 0; i < 20'000; ++i) {
    auto text = good;
    for (auto n = 1 + random() % 4; n > 0; --n)
      text[random() % text.size()] = static_cast<char>(random());
    for (const auto& x : {parse_hosts(text), parse_host_file(text)}) {
      if (!x)
        continue;
      for (const auto& host : *x) {
        CHECK(host.name.front() != '-');
        CHECK(host.slots + host.mentions > 0);
      }
    }
  }
}

TEST_CASE("host_list: this host needs no remote shell", "[cli]") {
  for (const auto* name : {"localhost", "127.0.0.1", "127.9.9.9", "::1", "n1",
                           "N1", "n1.example.org"})
    CHECK(is_this_host(name, "n1.example.org"));
  for (const auto* name :
       {"n2", "n1.example.com", "me@localhost", "n1.example", "", "10.0.0.1"})
    CHECK_FALSE(is_this_host(name, "n1.example.org"));
  CHECK_FALSE(is_this_host("", ""));
  CHECK(host_of("me@a") == "a");
  CHECK(host_of("a") == "a");
}

} // namespace

} // namespace actorrun::test::host_list_test
