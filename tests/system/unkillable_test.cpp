// Workers that SIGKILL does not end in time.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <string>

namespace actorrun::test::unkillable_test {

namespace {

const auto timeout_variable
  = std::string{"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT"};

struct held_scene : scene {
  /// The tracer is in no worker's session, and ends on request.
  ~held_scene() {
    const auto text = content_of(folder() + "/tracer");
    write("release", "");
    if (!text.empty())
      eventually([&] { return !alive(std::stoi(text)); });
  }

  words command() const {
    return {"--standalone", "--nproc-per-node=2", "--shutdown-timeout=0",
            "--no-python",  HELD_WORKER,          folder()};
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE_METHOD(held_scene,
                 "unkillable: a job does not wait forever for a worker that "
                 "does not end, and reports it",
                 "[unkillable]") {
  auto& x = run(command(), {{timeout_variable, "0.3"}});
  CHECK(x.wait() == 7);
  const auto output = x.output();
  CHECK(contains(output, "did not end after SIGKILL"));
  CHECK(contains(output, "Root Cause (first observed failure):"));
  CHECK(contains(output, "exitcode  : 3 "));
  CHECK(contains(output, "outlived SIGKILL and hangs in the kernel"));
}

TEST_CASE_METHOD(
  held_scene, "unkillable: a worker that ends in time is killed like any other",
  "[unkillable]") {
  auto& x = run(command(), {{timeout_variable, "60"}});
  CHECK(x.says("rank 0 "));
  write("release", "");
  CHECK(x.wait() == 1);
  CHECK_FALSE(contains(x.output(), "outlived"));
}

} // namespace actorrun::test::unkillable_test
