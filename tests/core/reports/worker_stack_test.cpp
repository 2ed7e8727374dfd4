#include "actors/core/reports/worker_stack.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::worker_stack_test {

using namespace actorrun::core;

using lines = std::vector<std::string>;

TEST_CASE("worker_stack: the main thread's Python frames come first",
          "[core]") {
  const auto* dump = "Process 4711: python train.py\n"
                     "Python v3.11.2 (/usr/bin/python3.11)\n"
                     "\n"
                     "Thread 4713 (idle): \"loader\"\n"
                     "    wait (threading.py:320)\n"
                     "Thread 4711 (active): \"MainThread\"\n"
                     "    all_reduce (dist.py:7)\n"
                     "    main (train.py:41)\n";
  CHECK(python_frames(dump)
        == lines{"all_reduce (dist.py:7)", "main (train.py:41)",
                 "Thread 4713 (idle): \"loader\"", "wait (threading.py:320)"});
  CHECK(python_frames("Error: Permission denied\n").empty());
  CHECK(python_frames("Thread 4711 (idle)\n").empty());
}

TEST_CASE("worker_stack: there are no more frames than fit", "[core]") {
  auto dump = std::string{"Thread 1 (idle): \"MainThread\"\n"};
  for (int i = 0; i < 500; ++i)
    dump += "    f (" + std::string(500, 'x') + ".py:1)\n";
  const auto frames = python_frames(dump);
  CHECK(frames.size() == stack_frames_max);
  CHECK(frames.front().size() <= stack_frame_size_max);
}

TEST_CASE("worker_stack: the kernel's frames", "[core]") {
  auto seen = thread_snapshot{};
  seen.stat.state = 'S';
  seen.wchan = "futex_wait_queue";
  seen.syscall = "futex";
  CHECK(kernel_frames(seen, "")
        == lines{"in futex_wait_queue", "system call futex"});
  CHECK(kernel_frames(seen, "[<0>] futex_wait_queue+0x69/0xd0\n"
                            "[<0>] do_futex+0x10b/0x1f0\n")
        == lines{"in futex_wait_queue", "system call futex",
                 "futex_wait_queue+0x69/0xd0", "do_futex+0x10b/0x1f0"});
}

} // namespace actorrun::test::worker_stack_test
