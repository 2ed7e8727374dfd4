#include "environment.hpp"

#include "fail.hpp"
#include "parse.hpp"

#include <cstdlib>
#include <limits>

namespace training {

namespace {

std::string text_of(const char* name) {
  const auto* value = std::getenv(name);
  if (value == nullptr || *value == '\0')
    fail(std::string{name} + " is not set; start me with actorrun, for example"
           + " actorrun --nproc-per-node=2 --no-agent-store --no-python"
             " elastic_training",
         exit_status::bad_usage);
  return value;
}

template <class T>
T number_of(const char* name, T min, T max) {
  const auto text = text_of(name);
  const auto value = parse_number<T>(text, min, max);
  if (!value)
    fail(std::string{name} + "='" + text + "' is not a number from "
           + std::to_string(min) + " to " + std::to_string(max),
         exit_status::bad_usage);
  return *value;
}

} // namespace

environment read_environment() {
  auto x = environment{};
  x.world_size = number_of<uint32_t>("WORLD_SIZE", 1, world_size_max);
  x.rank = number_of<uint32_t>("RANK", 0, x.world_size - 1);
  x.local_rank = number_of<uint32_t>("LOCAL_RANK", 0, x.world_size - 1);
  if (text_of("TORCHELASTIC_USE_AGENT_STORE") == "True")
    fail(
      "MASTER_PORT is taken: the agent serves torch's store there, and rank 0"
      " has to listen; start me with actorrun --no-agent-store",
      exit_status::bad_usage);
  x.master_address = text_of("MASTER_ADDR");
  x.master_port = number_of<uint16_t>("MASTER_PORT", 1, 65'535);
  x.job = text_of("ACTORRUN_JOB_ID");
  x.generation = number_of<uint64_t>("ACTORRUN_GENERATION", 0,
                                     std::numeric_limits<uint64_t>::max());
  x.token = number_of<uint64_t>("ACTORRUN_FENCING_TOKEN", 0,
                                std::numeric_limits<uint64_t>::max());
  x.restart_count = number_of<uint32_t>("TORCHELASTIC_RESTART_COUNT", 0,
                                        std::numeric_limits<uint32_t>::max());
  return x;
}

} // namespace training
