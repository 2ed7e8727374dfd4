#include "actors/core/reports/event_log.hpp"

#include "actors/core/text.hpp"

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

namespace actorrun::core {

namespace {

/// What shells say of a program that is not there, or cannot be executed.
constexpr int not_found_code = 127;
constexpr int not_executable_code = 126;

constexpr auto status_prefix = "torchelastic.worker.status.";

// -- JSON ---------------------------------------------------------------------

std::string json_string(std::string_view text) {
  auto out = std::string{"\""};
  for (const auto c : printable(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      char code[7];
      std::snprintf(code, sizeof(code), "\\u%04x", byte);
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

constexpr auto null = "null";

template <class T>
std::string number_or_null(const std::optional<T>& x) {
  return x ? std::to_string(*x) : null;
}

/// `"name": [7]`: torch has lists of one element here.
std::string list_of_one(const char* name, const std::string& json) {
  return std::string{", \""} + name + "\": [" + json + "]";
}

int64_t in_ms(duration x) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(x).count();
}

/// As in an error file, whether or not there was one.
std::string error_document(const std::string& message, const death_details& x) {
  return "{\"message\": {\"message\": " + json_string(message)
         + ", \"extraInfo\": {\"py_callstack\": " + json_string(x.traceback)
         + ", \"timestamp\": \"" + std::to_string(x.wall_ms / 1'000) + "\"}}}";
}

} // namespace

/// One event, but for what is the same in all.
struct event_log::record {
  struct worker {
    uint32_t local_rank = 0;
    int64_t pid = 0;
    std::optional<int> exit_code{};
  };

  std::string name{}; ///< Empty: the state's.
  const char* source = "AGENT";
  std::string state{};
  std::optional<worker> who{};
  std::optional<std::string> raw_error{};
  std::optional<int64_t> duration_ms{};
  std::optional<std::string> details{}; ///< JSON, instead of the usual.
};

event_log::event_log(event_subject subject, time_point begun)
  : subject_(std::move(subject)), begun_(begun), waiting_since_(begun) {}

event_log::lines event_log::note(const worker_group_event& event,
                                 const worker_group& group, time_point now,
                                 int64_t wall_ms) {
  auto out = lines{};
  std::visit(
    [&](const auto& x) {
      if constexpr (requires { x.local_rank; })
        if (group.is_spare(
              x.local_rank)) // It is no worker of a generation yet.
          return;
      on(x, group, {now, wall_ms}, out);
    },
    event);
  return out;
}

event_log::lines event_log::note(const ending& how, time_point now,
                                 int64_t wall_ms) {
  // An operator let it leave.
  const auto is_drained = !how.why && !how.result && how.signal == 0;
  const auto succeeded
    = !how.why
      && (is_drained
          || (how.result && how.result->kind == outcome::verdict::succeeded));
  auto x = about_agent(succeeded ? "SUCCEEDED" : "FAILED");
  if (how.why)
    x.raw_error = how.why->text;
  else if (!how.result)
    x.raw_error = is_drained
                    ? how.notice ? "left the job, as its machine is about to go"
                                 : "left the job, as an operator has asked"
                    : "left the job on signal " + std::to_string(how.signal);
  else if (!succeeded)
    x.raw_error = how.result->reason;
  return {text_of(x, {now, wall_ms})};
}

// -- events of workers --------------------------------------------------------

void event_log::on(const start_ordered&, const worker_group& group, moment at,
                   lines& out) {
  plan_.reset();
  if (group.plan().is_ahead) // None has met another yet.
    return;
  plan_ = group.plan();
  auto meeting = about_agent("RENDEZVOUS");
  meeting.duration_ms = in_ms(at.now - waiting_since_);
  out.push_back(text_of(meeting, at));
  auto ranks = about_agent("ASSIGN_WORKER_RANKS");
  ranks.duration_ms = 0; // They come with the generation.
  out.push_back(text_of(ranks, at));
}

void event_log::on(const worker_started& event, const worker_group&, moment at,
                   lines& out) {
  out.push_back(
    text_of(about_worker("START", event.local_rank, event.pid), at));
}

void event_log::on(const worker_not_started& event, const worker_group&,
                   moment at, lines& out) {
  waiting_since_ = at.now;
  if (event.error == ECANCELED) // Called off because of another failure.
    return;
  auto x = about_worker("FAILED", event.local_rank, 0);
  x.who->exit_code = event.error == ENOENT || event.error == ENOTDIR
                       ? not_found_code
                       : not_executable_code;
  x.raw_error = error_document("could not be started: " + event.details.subject
                                 + " " + event.details.message,
                               event.details);
  out.push_back(text_of(x, at));
}

void event_log::on(const worker_exited& event, const worker_group& group,
                   moment at, lines& out) {
  waiting_since_ = at.now;
  const auto& who = group.workers().at(event.local_rank);
  const auto failed = event.exit_code != 0 || event.signal != 0;
  const auto* state = group.has_ordered(event) ? "TERMINATED"
                      : failed                 ? "FAILED"
                                               : "SUCCEEDED";
  auto x = about_worker(state, event.local_rank, who.pid);
  x.who->exit_code = event.signal != 0 ? -event.signal : event.exit_code;
  if (x.state == "FAILED")
    x.raw_error
      = error_document(event.signal != 0 && event.details.message.empty()
                         ? "killed by signal " + std::to_string(event.signal)
                         : event.details.message,
                       event.details);
  out.push_back(text_of(x, at));
}

void event_log::on(const worker_overran& event, const worker_group& group,
                   moment at, lines& out) {
  const auto pid = group.workers().at(event.local_rank).pid;
  const auto due_ms = at.wall_ms - in_ms(event.lateness);
  const auto tell = [&](const char* what) {
    auto x = about_agent("RUNNING");
    x.name = what;
    x.details = "{\"watchdog_event\": " + json_string(what)
                + ", \"worker_pid\": " + json_string(std::to_string(pid))
                + ", \"scope_id\": " + json_string(event.scope)
                + ", \"expiration_time\": "
                + json_string(std::to_string(due_ms / 1'000)) + ", \"signal\": "
                + json_string(std::to_string(event.signal)) + "}";
    out.push_back(text_of(x, at));
  };
  tell("timer expired");
  if (event.signal > 0)
    tell("kill worker process");
}

// -- records ------------------------------------------------------------------

event_log::record event_log::about_agent(const char* state) const {
  auto x = record{};
  x.state = state;
  return x;
}

event_log::record event_log::about_worker(const char* state,
                                          uint32_t local_rank,
                                          int64_t pid) const {
  auto x = about_agent(state);
  x.source = "WORKER";
  x.who = record::worker{local_rank, pid};
  return x;
}

// Details that only workers have, as torch's own JSON within JSON.
std::string event_log::details_of(const record& x) const {
  if (x.details)
    return *x.details;
  auto out = "{\"group_world_size\": "
             + (plan_ ? std::to_string(plan_->node_count) : null)
             + ", \"entry_point\": " + json_string(subject_.entry_point);
  if (x.who && plan_) {
    const auto& own = plan_->own;
    const auto rank = x.who->local_rank;
    out += list_of_one("local_rank", std::to_string(rank))
           + list_of_one("role_rank", std::to_string(own.role_rank(rank)))
           + list_of_one("role_world_size", std::to_string(own.role_world_size))
           + list_of_one("exit_code", number_or_null(x.who->exit_code))
           + list_of_one("worker_pid", std::to_string(x.who->pid));
  }
  return out + "}";
}

std::string event_log::text_of(const record& x, moment at) const {
  auto global_rank = std::string{null};
  auto worker_id = std::string{null};
  if (x.who)
    worker_id = json_string(std::to_string(x.who->pid));
  if (x.who && plan_)
    global_rank = std::to_string(plan_->own.global_rank(x.who->local_rank));
  const auto name = x.name.empty() ? status_prefix + x.state : x.name;
  const auto seconds = in_ms(at.now - begun_) / 1'000;
  return "{\"name\": " + json_string(name) + ", \"source\": \"" + x.source
         + "\", \"timestamp\": " + std::to_string(at.wall_ms)
         + ", \"metadata\": {\"run_id\": " + json_string(subject_.job.value)
         + ", \"global_rank\": " + global_rank + ", \"group_rank\": "
         + (plan_ ? std::to_string(plan_->own.node_rank) : null)
         + ", \"worker_id\": " + worker_id
         + ", \"role\": " + json_string(subject_.role)
         + ", \"hostname\": " + json_string(subject_.host) + ", \"state\": \""
         + x.state + "\", \"total_run_time\": " + std::to_string(seconds)
         + ", \"rdzv_backend\": " + json_string(subject_.backend)
         + ", \"raw_error\": "
         + (x.raw_error ? json_string(*x.raw_error) : null) + ", \"metadata\": "
         + json_string(details_of(x)) + ", \"agent_restarts\": "
         + std::to_string(plan_ ? plan_->restart_count : 0)
         + ", \"duration_ms\": " + number_or_null(x.duration_ms) + "}}";
}

} // namespace actorrun::core
