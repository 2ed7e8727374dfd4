#include "tests/support/recorder.hpp"

#include <chrono>
#include <variant>

namespace actorrun::test {

namespace {

std::string numbers(const google::protobuf::RepeatedField<int64_t>& xs) {
  auto text = std::string{};
  for (const auto x : xs)
    text += " " + std::to_string(x);
  return text;
}

std::string and_others(size_t listed, uint32_t unlisted) {
  return listed + unlisted == 0 ? "" : " +" + std::to_string(listed + unlisted);
}

/// ` unkillable=2: first place, second place`
std::string parked(const core::parked_share& x) {
  auto text = std::string{};
  for (const auto rank : x.local_ranks)
    text += (text.empty() ? ", parked " : " ") + std::to_string(rank);
  return text;
}

std::string given_up(const core::group_stopped& x) {
  if (x.unkillable_count == 0)
    return "";
  auto text = " unkillable=" + std::to_string(x.unkillable_count);
  for (const auto& failure : x.others.listed)
    if (failure.kind == core::failure_kind::unkillable)
      text += (text.find(':') == std::string::npos ? ": " : ", ")
              + failure.details.where;
  return text;
}

struct event_writer {
  std::string operator()(const core::group_started& x) const {
    auto text = "started " + to_string(x.generation) + ":";
    for (const auto pid : x.pids)
      text += " " + std::to_string(pid);
    return text;
  }
  std::string operator()(const core::group_failed& x) const {
    return "failed " + to_string(x.generation) + ": " + to_string(x.failure);
  }
  std::string operator()(const core::group_succeeded& x) const {
    return "succeeded " + to_string(x.generation);
  }
  std::string operator()(const core::group_stopped& x) const {
    return "stopped " + to_string(x.generation) + ", port "
           + std::to_string(x.master_port)
           + and_others(x.others.listed.size(), x.others.unlisted_count)
           + given_up(x) + parked(x.parked);
  }
  std::string operator()(const workers_stepped& x) const {
    return "stepped in " + to_string(x.generation);
  }
  std::string operator()(const core::group_safe_point& x) const {
    return to_string(x.report) + " of " + to_string(x.generation);
  }
  std::string operator()(const core::group_parked& x) const {
    return "of " + to_string(x.generation) + " left" + parked(x.parked);
  }
  std::string operator()(const core::control_checked& x) const {
    const auto asked
      = x.asked.time_since_epoch() / std::chrono::milliseconds{1};
    return "control checked " + std::to_string(asked) + " ms";
  }
};

} // namespace

std::string to_text(const v1::JoinAccepted& x) {
  const auto ms = [](uint64_t ns) { return std::to_string(ns / 1'000'000); };
  return x.keep_alive_interval_ns() == 0
           ? "accepted"
           : "accepted, every " + ms(x.keep_alive_interval_ns()) + " ms, fence "
               + ms(x.fence_ns()) + " ms"
               + (x.age_ns() > 0 ? ", " + ms(x.age_ns()) + " ms old" : "");
}

std::string to_text(const v1::JoinRejected& x) {
  return "rejected: " + std::string{to_string(errc(x.code()))} + ", "
         + x.text();
}

std::string to_text(const v1::GenerationFormed& x) {
  const auto& plan = x.plan();
  const auto first = plan.first_global_rank();
  return "formed " + std::to_string(plan.generation()) + ": ranks "
         + std::to_string(first) + "-"
         + std::to_string(first + plan.slot_count() - 1) + " of "
         + std::to_string(plan.world_size())
         + (x.reason().empty() ? "" : ", " + x.reason());
}

std::string to_text(const v1::GenerationRevoked& x) {
  return "revoked " + std::to_string(x.generation()) + ": " + x.reason();
}

std::string to_text(const v1::JobEnded& x) {
  const auto how = from_wire(x.outcome());
  return "ended " + to_string(how.kind) + ": " + how.reason;
}

std::string to_text(const generation_begun& x) {
  const auto first = x.plan.own.first_global_rank;
  return "begun " + std::to_string(x.number()) + ": ranks "
         + std::to_string(first) + "-"
         + std::to_string(first + x.plan.own.slot_count - 1) + " of "
         + std::to_string(x.plan.world_size)
         + (x.reason.empty() ? "" : ", " + x.reason);
}

std::string to_text(const generation_over& x) {
  return "over " + std::to_string(x.number()) + ": " + x.reason;
}

std::string to_text(const job_over& x) {
  return "ended " + to_string(x.result.kind) + ": " + x.result.reason;
}

std::string to_text(const v1::JoinRequest& x) {
  auto text = "join " + x.offer().agent_id();
  if (x.has_claim())
    text += " with " + std::to_string(x.claim().plan().generation()) + " "
            + to_string(from_wire(x.claim().state())) + ", pids"
            + numbers(x.claim().pids());
  return text;
}

std::string to_text(const v1::LeaveNotice& x) {
  return x.done()
           ? "left " + x.agent_id()
           : "leaving " + x.agent_id() + " " + std::to_string(x.signal());
}

std::string to_text(const group_event& x) {
  return std::visit(event_writer{}, x);
}

agent_recorder record_agent(caf::actor_system& system) {
  auto out = agent_recorder{};
  const auto& to = out.inbox;
  out.handle = system.spawn([to, reasons = out.reasons, revoked = out.revoked,
                             status = out.status,
                             asked = out.asked](node_agent_actor::pointer self)
                              -> node_agent_actor::behavior_type {
    return {
      [to, reasons](const v1::JoinAccepted& x) {
        to.write(to_text(x));
        reasons.write(x.waiting_for());
      },
      [to](const v1::JoinRejected& x) { to.write(to_text(x)); },
      [to](const v1::LeaseGranted& x) {
        const auto age = x.age_ns() / 1'000'000;
        to.write("granted " + std::to_string(x.sent_ns())
                 + (age > 0 ? ", " + std::to_string(age) + " ms old" : ""));
      },
      [to](const v1::GenerationFormed& x) { to.write(to_text(x)); },
      [to, revoked](const v1::GenerationRevoked& x) {
        *revoked = x;
        to.write(to_text(x));
      },
      [to](const v1::JobEnded& x) { to.write(to_text(x)); },
      [](const v1::StatusRequest&) { return v1::JobStatus{}; },
      [to](const operator_question&) { to.write("operator"); },
      [self, status, asked](const v1::NodeStatusRequest& x) {
        asked->push_back(x.request());
        if (!*status)
          return;
        auto answer = **status;
        answer.set_request(x.request());
        tell(
          self,
          caf::actor_cast<rendezvous_coordinator_actor>(self->current_sender()),
          std::move(answer));
      },
      [to](const v1::LogReading& x) {
        to.write("read " + std::to_string(x.reading()) + " of "
                 + std::to_string(x.what().generation()) + ", credit "
                 + std::to_string(x.credit())
                 + (x.what().has_tail()
                      ? ", tail " + std::to_string(x.what().tail())
                      : ""));
      },
      [to](const v1::LogCredit& x) {
        to.write("credit " + std::to_string(x.reading()) + " "
                 + std::to_string(x.size()));
      },
      [to](const v1::StacksRequest& x) {
        to.write("stacks " + std::to_string(x.request()));
      },
      [to](const log_lines_read&) { to.write("lines"); },
      [to](const logs_drained&) { to.write("drained"); },
      [to](const stacks_seen&) { to.write("seen"); },
      [to](const devices_report& x) { to.write("devices " + x.event); },
      [to](const v1::DrainNotice& x) {
        to.write((x.stays() ? "save in " : "drain in ")
                 + std::to_string(x.deadline_ms()) + " ms");
      },
      [to](const v1::CheckOrder& x) {
        to.write(x.beside() ? "check beside" : "check");
      },
      [to](const core::report_fitness& x) {
        to.write(x.unfit.empty() ? "fit" : "unfit: " + x.unfit);
      },
      [to](const v1::EndHungWorker& x) {
        to.write("end hung worker " + std::to_string(x.local_rank()) + " of "
                 + std::to_string(x.generation()));
      },
      [to](const v1::SafePointOrder& x) {
        to.write(to_string(from_wire(x)) + " of "
                 + std::to_string(x.generation()));
      },
      [to](const v1::StartAhead& x) {
        to.write("start ahead of " + std::to_string(x.generation()) + ", "
                 + std::to_string(x.restart_count()) + " restarts");
      },
      [to](const v1::CharterChanged& x) {
        to.write("charter " + std::to_string(x.charter().revision()));
      },
      [to](const v1::VotersChanged& x) {
        to.write(std::to_string(x.voters_size()) + " voters");
      },
      [to](const v1::LogLevelOrder& x) { to.write("log " + x.level()); },
      [to](const vitals_report&) { to.write("vitals"); },
      [to](const status_due&) { to.write("status due"); },
      [to](const group_event& x) { to.write(to_text(x)); },
      [to](const core::leave_requested&) { to.write("leave requested"); },
      [to](const core::limit_near&) { to.write("limit near"); },
      [to](const core::notice_received& x) { to.write("notice: " + x.words); },
      [to](const core::coordinator_not_found&) { to.write("not found"); },
      [to](const core::second_way_found&) { to.write("second way"); },
      [to](const core::timer_fired&) { to.write("timer"); },
      [to](const loss_due&) { to.write("loss due"); },
      [to](const signs_due&) { to.write("signs due"); },
      [to](const steps_due&) { to.write("steps due"); },
      [to](const notify_group& x) {
        to.write("notify " + std::to_string(x.signal));
      },
      [to](const ports::location&) { to.write("link up"); },
      [to](const job_observer_actor&) { to.write("observer"); },
    };
  });
  return out;
}

coordinator_recorder record_coordinator(caf::actor_system& system,
                                        bool answers) {
  using self_pointer = rendezvous_coordinator_actor::pointer;
  using behavior = rendezvous_coordinator_actor::behavior_type;
  using status_promise = caf::typed_response_promise<v1::JobStatus>;
  auto out = coordinator_recorder{};
  out.join = std::make_shared<v1::JoinRequest>();
  out.handle = system.spawn([to = out.inbox, join = out.join, node = out.node,
                             answers](self_pointer self) -> behavior {
    const auto note = [to](const char* what, const auto& x) {
      to.write(what + (" " + std::to_string(x.generation())));
    };
    return {
      [to, join](const v1::JoinRequest& x) {
        *join = x;
        to.write(to_text(x));
      },
      [to](const v1::KeepAlive& x) {
        to.write("alive " + std::to_string(x.sent_ns()));
      },
      [to](const v1::WorkersStarted& x) {
        to.write("started " + std::to_string(x.generation()) + ":"
                 + numbers(x.pids()));
      },
      [to](const v1::WorkerFailed& x) {
        to.write("failed " + std::to_string(x.generation()) + ": "
                 + to_string(from_wire(x.failure())));
      },
      [note](const v1::WorkersSucceeded& x) { note("succeeded", x); },
      [to](const v1::WorkersStopped& x) {
        to.write("stopped " + std::to_string(x.generation()) + ", port "
                 + std::to_string(x.master_port())
                 + and_others(size_t(x.others().listed_size()),
                              x.others().unlisted_count()));
      },
      [to](const v1::SafePointReport& x) {
        to.write(to_string(from_wire(x)) + " of "
                 + std::to_string(x.generation()));
      },
      [to](const v1::LeaveNotice& x) { to.write(to_text(x)); },
      [to](const v1::NodeFitness& x) {
        to.write(x.unfit().empty() ? "fit" : "unfit: " + x.unfit());
      },
      [to](const v1::NodeNotice& x) { to.write("notice: " + x.words()); },
      [to](const v1::WorkersSilent& x) {
        to.write("silent for " + std::to_string(x.silent_ns()) + " ns"
                 + (x.can_tell() ? "" : ", as far as can be told"));
      },
      [to](const v1::WorkerPaces& x) {
        to.write("paces of " + std::to_string(x.workers_size()) + " workers");
      },
      [to](const v1::WorkersSaved& x) {
        to.write(
          "saved for " + std::to_string(x.saving_ns() / 1'000'000) + " ms"
          + (x.has_age_ns()
               ? ", " + std::to_string(x.age_ns() / 1'000'000) + " ms ago"
               : ""));
      },
      // CAF 1 answers with an error for a promise that is gone.
      [self, answers, kept = std::vector<status_promise>{}](
        const v1::StatusRequest&) mutable -> caf::result<v1::JobStatus> {
        if (!answers)
          return kept.emplace_back(
            self->make_response_promise<v1::JobStatus>());
        auto status = v1::JobStatus{};
        status.set_phase("recorded");
        return status;
      },
      [to](const operator_question&) { to.write("operator"); },
      [to, node](const v1::NodeStatus& x) {
        *node = x;
        to.write((x.request() == 0 ? "devices " : "status ")
                 + std::to_string(x.gpus_size()) + x.gpu_trouble());
      },
      [to](const status_due&) { to.write("status due"); },
      [to](const stacks_due&) { to.write("stacks due"); },
      [to](const paces_due&) { to.write("paces due"); },
      [to](const v1::LogChunk& x) {
        auto text = "lines " + std::to_string(x.reading()) + ":";
        for (const auto& line : x.lines())
          text += " " + std::to_string(line.rank()) + " " + line.text() + ";";
        to.write(text + x.trouble() + (x.is_end() ? " end" : ""));
      },
      [to](const v1::StacksReport& x) {
        to.write("stacks " + std::to_string(x.request()) + " of "
                 + std::to_string(x.workers_size()));
      },
      [to](const core::agent_lost&) { to.write("lost"); },
      [to](const core::outcome_written&) { to.write("outcome written"); },
      [to](const core::member_ended&) { to.write("member ended"); },
      [to](const core::charter_written&) { to.write("charter written"); },
      [to](const electors_question&) { to.write("electors asked"); },
      [to](const electors_known& x) {
        to.write(std::to_string(x.voters.size()) + " electors");
      },
      [to](const core::stop_requested&) { to.write("stop requested"); },
      [to](const core::timer_fired&) { to.write("timer"); },
    };
  });
  return out;
}

observer_recorder record_observer(caf::actor_system& system) {
  auto out = observer_recorder{};
  const auto& to = out.inbox;
  out.handle = system.spawn(
    [to](job_observer_actor::pointer) -> job_observer_actor::behavior_type {
      return {
        [to](const generation_begun& x) { to.write(to_text(x)); },
        [to](const generation_over& x) { to.write(to_text(x)); },
        [to](const job_over& x) { to.write(to_text(x)); },
      };
    });
  return out;
}

} // namespace actorrun::test
