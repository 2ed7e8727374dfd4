// torch's own client of expiration timers, unchanged. Debian has torch as
// python3-torch; without it these cases are skipped with a message.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/timers_scene.hpp"

namespace actorrun::test::timers_torch_test {

namespace {

struct torch_scene : timers_scene {
  /// An interpreter that has torch; empty, with a printed reason, without.
  std::string python() {
    static const auto found = [this]() -> std::string {
      for (const auto& x : {"python3", "/usr/bin/python3"}) {
        auto code = -1;
        read({x, "-c", "import torch.distributed.elastic.timer"}, &code);
        if (code == 0)
          return x;
      }
      return {};
    }();
    if (found.empty())
      actorrun::test::skip("torch",
                           "no python3 here has torch (Debian: python3-torch)");
    return found;
  }

  /// Runs a script after the lines that every user of timers begins with.
  std::string torch_output(const std::string& script, int expected_code,
                           words options = {}) {
    const auto path = write(
      "train.py", "import os, time\n"
                  "import torch.distributed.elastic.timer as timer\n"
                  "timer.configure(timer.FileTimerClient(\n"
                  "    os.environ['TORCHELASTIC_TIMER_FILE']))\n"
                  "first = os.environ['TORCHELASTIC_RESTART_COUNT'] == '0'\n"
                  "rank = os.environ['RANK']\n"
                    + script);
    auto line = words{"--standalone", "--nproc-per-node=2"};
    line.insert(line.end(), options.begin(), options.end());
    for (const auto& x : {std::string{"--no-python"}, python(), path})
      line.push_back(x);
    auto& x = run(std::move(line));
    CHECK(x.wait(3 * timeout) == expected_code); // Importing torch takes long.
    return x.output();
  }
};

} // namespace

TEST_CASE_METHOD(torch_scene,
                 "torch: expires() ends a worker that overruns it, and "
                 "the group restarts",
                 "[torch]") {
  if (python().empty())
    return;
  const auto output
    = torch_output("with timer.expires(after=60):\n"
                   "    time.sleep(0.05)\n"
                   "if first and rank == '1':\n"
                   "    with timer.expires(after=0.3, scope='step'):\n"
                   "        time.sleep(60)\n"
                   "elif first:\n"
                   "    time.sleep(60)\n",
                   0, {"--max-restarts=1"});
  CHECK(count_of(output, "timer \"step\" is overdue by ") == 1);
  CHECK(count_of(output, "coordinator forms generation 2") == 1);
}

TEST_CASE_METHOD(torch_scene,
                 "torch: nested scopes and concurrent threads are all "
                 "handled",
                 "[torch]") {
  if (python().empty())
    return;
  const auto output = torch_output(
    "import threading\n"
    "def work(name):\n"
    "    for i in range(50):\n"
    "        with timer.expires(after=2, scope=name):\n"
    "            with timer.expires(after=2, scope=name + '/inner'):\n"
    "                pass\n"
    "threads = [threading.Thread(target=work, args=(f'{rank}.{i}',))\n"
    "           for i in range(4)]\n"
    "[x.start() for x in threads]\n"
    "[x.join() for x in threads]\n"
    "time.sleep(2.5)\n",
    0);
  CHECK(count_of(output, "is overdue by ") == 0);
  CHECK(count_of(output, "Error") == 0);
}

} // namespace actorrun::test::timers_torch_test
