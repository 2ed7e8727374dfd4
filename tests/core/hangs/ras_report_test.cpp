#include "actors/core/hangs/ras_report.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::ras_report_test {

using namespace actorrun::core;

namespace {

/// As NCCL 2.24 to 2.29 write it, with what is not needed left out.
std::string answer(const std::string& warnings) {
  return "NCCL version 2.29.2 compiled with CUDA 13.0\n"
         "CUDA runtime version 13000, driver version 13000\n\n"
         "Job summary\n===========\n\n"
         "  Nodes  Processes         GPUs  Processes     GPUs\n"
         "(total)   per node  per process    (total)  (total)\n"
         "      8          8            1         64       64\n\n"
         "Communicators... (0.00s)\n=============\n\n"
         "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  "
         "Errors\n"
         "    0         1         8         8        64        64   RUNNING  "
         "MISMATCH\n\n"
         "Errors\n======\n\n\nWarnings\n========\n\n"
         + warnings;
}

} // namespace

TEST_CASE("ras report: the one that has not launched what others have",
          "[core]") {
  CHECK(
    find_lagging(
      answer("#0-0 (27a079b828ff1a75) MISMATCH\n"
             "  Communicator ranks have different AllReduce operation counts\n"
             "  63 ranks have launched up to operation 48213\n"
             "  Rank 17 has launched up to operation 48212 -- GPU 1 managed by "
             "process "
             "4711 on node 10.0.0.3\n\n"))
    == std::vector<lagging_process>{
      {4711,
       "rank 17 of communicator #0-0 has not launched AllReduce 48213, which "
       "63 others have"}});
}

TEST_CASE("ras report: several, also such as have launched nothing", "[core]") {
  const auto found = find_lagging(answer(
    "#0-1 (27a079b828ff1a75) MISMATCH\n"
    "  Communicator ranks have different status\n"
    "  60 ranks have status RUNNING\n"
    "  Rank 3 has status INIT -- GPU 3 managed by process 9 on node 10.0.0.1\n"
    "  Communicator ranks have different AllGather operation counts\r\n"
    "  60 ranks have launched up to operation 7\r\n"
    "  2 ranks have launched up to operation 6\r\n"
    "  Rank 2 -- GPU 2 managed by process 12 on node 10.0.0.1\r\n"
    "  Rank 5 -- [process information not found]\r\n"
    "  2 ranks have not launched any operations\r\n"
    "  Rank 6 -- GPU 6 managed by process 16 on node 10.0.0.1\r\n"
    "  Rank 7 -- GPUs 7,8 managed by process 17 on node 10.0.0.1\r\n\r\n"
    "#0-2 (27a079b828ff1a76) MISMATCH\n"
    "  Communicator ranks have different Reduce operation counts\n"
    "  63 ranks have launched up to operation 2\n"
    "  Rank 2 has not launched any operations -- GPU 2 managed by process 12 "
    "on "
    "node 10.0.0.1\n"
    "  Rank 9 has not launched any operations -- GPU 9 managed by process 19 "
    "on "
    "node 10.0.0.2"));
  auto shown = std::string{};
  for (const auto& x : found)
    shown += std::to_string(x.pid) + ": " + x.words + "\n";
  CHECK(
    shown
    == "12: rank 2 of communicator #0-1 has not launched AllGather 7, which "
       "60 others have\n"
       "16: rank 6 of communicator #0-1 has not launched AllGather 1, which "
       "62 others have\n"
       "17: rank 7 of communicator #0-1 has not launched AllGather 1, which "
       "62 others have\n"
       "19: rank 9 of communicator #0-2 has not launched Reduce 1, which 63 "
       "others have\n");
}

TEST_CASE("ras report: who is ahead of most does not lag", "[core]") {
  CHECK(
    find_lagging(
      answer("#0-0 (1) MISMATCH\n"
             "  Communicator ranks have different Broadcast operation counts\n"
             "  62 ranks have launched up to operation 10\n"
             "  2 ranks have launched up to operation 11\n"
             "  Rank 0 -- GPU 0 managed by process 1 on node 10.0.0.1\n"
             "  Rank 1 -- GPU 1 managed by process 2 on node 10.0.0.1\n\n"))
      .empty());
}

TEST_CASE("ras report: what is not understood is passed over", "[core]") {
  CHECK(find_lagging("").empty());
  CHECK(find_lagging(answer("")).empty());
  CHECK(find_lagging("HTTP/1.1 400 Bad Request\r\n\r\n").empty());
  CHECK(
    find_lagging("  Rank 1 has not launched any operations -- GPU 1 managed "
                 "by process 5 on node n")
      .empty());
  const auto head = std::string{
    "#0-0 x\n  Communicator ranks have different A operation counts\n"};
  for (const auto* line :
       {"  99999999999999999999 ranks have launched up to operation 3",
        "  -3 ranks have launched up to operation 3", "  Rank x", "  Rank 3",
        "  Rank 3 -- GPU 0 managed by process y on node z"})
    CHECK(find_lagging(head + line + "\n").empty());
  // Names are those of NCCL, whatever is written there.
  const auto odd = find_lagging(
    "#0\x1b[31m-0\n  Communicator ranks have different \"; rm operation "
    "counts\n  3 ranks have launched up to operation 2\n  Rank 1 has launched "
    "up to operation 1 -- GPU 0 managed by process 7 on node z\n");
  CHECK(odd.empty());
}

TEST_CASE("ras report: it is bounded", "[core]") {
  auto text
    = std::string{"#0-0 (1) MISMATCH\n  Communicator ranks have different "
                  "AllReduce operation counts\n  9000 ranks have launched up "
                  "to operation 2\n  3000 ranks have launched up to operation "
                  "1\n"};
  for (auto i = 1; i <= 3000; ++i)
    text += "  Rank " + std::to_string(i) + " -- GPU 0 managed by process "
            + std::to_string(i) + " on node n\n";
  CHECK(find_lagging(text).size() == lagging_processes_max);
}

} // namespace actorrun::test::ras_report_test
