#include "runtime/processes/output_files.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::output_files_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

namespace {

const auto inherited = core::stream_target{};

std::string link_of(int fd) {
  return fs::read_symlink("/proc/self/fd/" + std::to_string(fd));
}

struct outputs_fixture {
  folder here;
  unique_fd null;
  output_files uut{null};
};

// While it lives no descriptor from 3 on can be opened.
struct no_descriptors {
  rlimit old{};

  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &old);
    const auto now = rlimit{STDERR_FILENO + 1, old.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }

  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &old); }
};

} // namespace

TEST_CASE_METHOD(outputs_fixture,
                 "output files: inherited outputs are not opened",
                 "[runtime]") {
  const auto outputs = uut.open(inherited, inherited);
  CHECK(outputs.out == -1);
  CHECK(outputs.err == -1);
  CHECK(outputs.error == 0);
  CHECK(!null);
  CHECK(uut.complaint().empty());
}

TEST_CASE_METHOD(outputs_fixture,
                 "output files: a file is emptied once a batch", "[runtime]") {
  std::ofstream{here / "out"} << "old";
  {
    const auto outputs = uut.open(to_file(here / "out"), inherited);
    REQUIRE(outputs.out > STDERR_FILENO);
    CHECK(content_of(here / "out").empty());
    CHECK(::write(outputs.out, "new", 3) == 3);
    CHECK(::fcntl(outputs.out, F_GETFD) == FD_CLOEXEC);
    CHECK((::fcntl(outputs.out, F_GETFL) & (O_APPEND | O_NONBLOCK | O_ACCMODE))
          == (O_APPEND | O_WRONLY));
  }
  (void)uut.open(to_file(here / "out"), inherited);
  CHECK(content_of(here / "out") == "new");
  auto next = output_files{null};
  (void)next.open(to_file(here / "out"), inherited);
  CHECK(content_of(here / "out").empty());
}

TEST_CASE_METHOD(outputs_fixture, "output files: the umask counts",
                 "[runtime]") {
  const auto old = ::umask(027);
  (void)uut.open(to_file(here / "out"), inherited);
  ::umask(old);
  struct stat status = {};
  REQUIRE(::stat((here / "out").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE_METHOD(outputs_fixture, "output files: one path is opened once",
                 "[runtime]") {
  const auto outputs = uut.open(to_file(here / "x"), to_file(here / "x"));
  CHECK(outputs.out > STDERR_FILENO);
  CHECK(outputs.err == outputs.out);
  const auto two = uut.open(to_file(here / "y"), to_file(here / "z"));
  CHECK(link_of(two.out) == here / "y");
  CHECK(link_of(two.err) == here / "z");
}

TEST_CASE_METHOD(outputs_fixture, "output files: /dev/null is opened once",
                 "[runtime]") {
  const auto outputs = uut.open(discarded, discarded);
  CHECK(link_of(outputs.out) == null_device);
  CHECK(outputs.err == outputs.out);
  CHECK(outputs.out == null.get());
  CHECK(::fcntl(null.get(), F_GETFD) == FD_CLOEXEC);
  CHECK(output_files{null}.open(inherited, discarded).err == null.get());
}

TEST_CASE_METHOD(outputs_fixture,
                 "output files: a file that cannot be opened is discarded and "
                 "reported with a count",
                 "[runtime]") {
  REQUIRE(::mkfifo((here / "pipe").c_str(), 0600) == 0); // It has no reader.
  fs::create_directory(here / "folder");
  const auto first = uut.open(to_file(here / "none/out"), inherited);
  CHECK(first.error == 0);
  CHECK(first.out == null.get());
  CHECK(uut.complaint()
        == "output is lost: cannot open " + here / "none/out"
             + ": No such file or directory");
  const auto both = uut.open(to_file(here / "folder"), to_file(here / "pipe"));
  CHECK(both.out == null.get());
  CHECK(both.err == null.get());
  (void)uut.open(to_file(here / "good"), to_file(std::string(5000, 'x')));
  CHECK(uut.complaint()
        == "output is lost: cannot open " + here / "none/out"
             + ": No such file or directory; and 3 more files of this start");
}

TEST_CASE_METHOD(outputs_fixture,
                 "output files: S5 without descriptors there is an errno, and "
                 "the path",
                 "[runtime]") {
  (void)uut.open(discarded, inherited);
  auto outputs = open_outputs{};
  {
    const auto limit = no_descriptors{};
    outputs = uut.open(to_file(here / "a"), to_file(here / "b"));
  }
  CHECK(outputs.error == EMFILE); // The start is tried again.
  CHECK(outputs.subject == here / "b");
  CHECK(uut.complaint().empty());
  outputs = uut.open(to_file(here / "a"), to_file(here / "b"));
  CHECK(outputs.error == 0);
  CHECK(outputs.out >= 0);
}

TEST_CASE_METHOD(outputs_fixture,
                 "output files: without any output there is an errno",
                 "[runtime]") {
  auto outputs = open_outputs{};
  {
    const auto limit = no_descriptors{};
    outputs = uut.open(inherited, discarded);
  }
  CHECK(outputs.error == EMFILE);
}

TEST_CASE_METHOD(
  outputs_fixture,
  "output files: numbers of closed standard streams are not used",
  "[runtime]") {
  const auto saved = unique_fd{::dup(STDOUT_FILENO)};
  ::close(STDOUT_FILENO);
  const auto outputs = uut.open(to_file(here / "out"), discarded);
  ::dup2(saved.get(), STDOUT_FILENO);
  CHECK(outputs.out > STDERR_FILENO);
  CHECK(outputs.err > STDERR_FILENO);
  CHECK(link_of(outputs.out) == here / "out");
}

} // namespace actorrun::test::output_files_test
