// Names every type that may cross the wire to CAF, and carries Protobuf through
// its serialisers.
#pragma once

#include "messages/caf.hpp"

#include "messages/job.pb.h"
#include "messages/node.pb.h"
#include "messages/rendezvous.pb.h"
#include "messages/worker.pb.h"

#if ACTORRUN_CAF_017
#include <caf/meta/load_callback.hpp>
#endif
#include <caf/sec.hpp>
#include <caf/type_id.hpp>

#include <string>
#include <type_traits>

namespace actorrun::v1 {

/// Largest message; what streams must be cut into such pieces.
inline constexpr size_t message_size_max = 64 * 1024;

/// One for all Protobuf messages; CAF finds it by argument-dependent look-up.
template <
  class Inspector, class T,
  class = std::enable_if_t<std::is_base_of_v<google::protobuf::MessageLite, T>>>
auto inspect(Inspector& f, T& x) {
#if ACTORRUN_CAF_017
  auto bytes = std::string{};
  if constexpr (std::is_void_v<typename Inspector::result_type>) {
    bytes = x.GetTypeName();
    return f(bytes);
  } else if constexpr (Inspector::reads_state) {
    x.SerializeToString(&bytes);
    return f(bytes);
  } else {
    auto load = [&]() -> caf::error {
      if (x.ParseFromString(bytes))
        return caf::none;
      return caf::make_error(caf::sec::invalid_argument, x.GetTypeName());
    };
    return f(bytes, caf::meta::load_callback(load));
  }
#else
  auto get = [&x] {
    auto bytes = std::string{};
    x.SerializeToString(&bytes);
    return bytes;
  };
  auto set = [&x](std::string bytes) { return x.ParseFromString(bytes); };
  return f.object(x).fields(f.field("bytes", get, set));
#endif
}

} // namespace actorrun::v1

// A program's own types begin at `caf::first_custom_type_id`; ours keep out of
// their way, and keep their numbers: new ones come at the end.
static_assert(ACTORRUN_FIRST_TYPE_ID >= caf::first_custom_type_id);

CAF_BEGIN_TYPE_ID_BLOCK(actorrun, ACTORRUN_FIRST_TYPE_ID)
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::JoinRequest))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::JoinAccepted))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::JoinRejected))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::KeepAlive))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::LeaseGranted))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::GenerationFormed))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::GenerationRevoked))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::LeaveNotice))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::WorkersStarted))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::WorkerFailed))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::WorkersSucceeded))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::WorkersStopped))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::JobEnded))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::StatusRequest))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::JobStatus))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::NodeStatusRequest))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::NodeStatus))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::DrainNotice))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::LogLevelOrder))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::LogReading))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::LogCredit))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::LogChunk))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::StacksRequest))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::StacksReport))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::SafePointOrder))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::SafePointReport))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::CharterChanged))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::StartAhead))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::VotersChanged))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::NodeFitness))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::CheckOrder))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::NodeNotice))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::WorkersSilent))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::EndHungWorker))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::WorkerPaces))
CAF_ADD_TYPE_ID(actorrun, (actorrun::v1::WorkersSaved))
CAF_END_TYPE_ID_BLOCK(actorrun)

namespace actorrun {

/// Makes the wire types known to actor systems that are built from `config`.
/// Call it before the system is constructed.
void register_wire_types(caf::actor_system_config& config);

/// Whether that has been done.
bool knows_wire_types(caf::actor_system& system);

} // namespace actorrun
