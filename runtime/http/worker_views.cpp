#include "runtime/http/worker_views.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/logs/log_selection.hpp"
#include "messages/formatted.hpp"
#include "runtime/job_logs_json.hpp"
#include "runtime/network/operator_reach.hpp"
#include "runtime/network/operator_session.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace actorrun::detail {

namespace {

/// In bytes; so much may be under way.
constexpr auto window = uint32_t{256} * 1024;

/// What a query names.
struct worker_wish {
  uint32_t rank = 0;
  v1::LogOutputs outputs = v1::LOG_OUTPUTS_BOTH;
};

std::optional<worker_wish> wish_in(std::string_view query) {
  constexpr std::string_view name = "rank=";
  if (!query.starts_with(name))
    return std::nullopt;
  query.remove_prefix(name.size());
  auto out = worker_wish{};
  const auto end = query.data() + query.size();
  const auto x = std::from_chars(query.data(), end, out.rank);
  const auto rest = std::string_view{x.ptr, static_cast<size_t>(end - x.ptr)};
  if (rest == "&output=out")
    out.outputs = v1::LOG_OUTPUTS_OUT;
  else if (rest == "&output=err")
    out.outputs = v1::LOG_OUTPUTS_ERR;
  else if (!rest.empty())
    return std::nullopt;
  return x.ec == std::errc{} ? std::optional{out} : std::nullopt;
}

http_reply json_reply(std::string text) {
  auto out = http_reply{};
  out.type = "application/json";
  out.body = std::make_shared<const std::string>(std::move(text));
  return out;
}

http_reply reply_to_nonsense() {
  return text_reply(400, "name a worker: ?rank=N");
}

} // namespace

worker_views::worker_views(reactor& home,
                           std::function<void(operator_question)> ask,
                           const worker_view_limits& limits)
  : home_(home), ask_(std::move(ask)), limits_(limits),
    path_(reply_path::open(home,
                           [this](uint64_t number, v1::OperatorReply x) {
                             on_reply(number, std::move(x));
                           })),
    session_(next_session()) {}

worker_views::~worker_views() {
  path_->close();
  for (const auto& [number, x] : questions_)
    home_.cancel(x.deadline);
}

void worker_views::log(std::string_view query, http_callback done) {
  const auto found = wish_in(query);
  if (!found)
    return done(reply_to_nonsense());
  auto what = v1::OperatorRequest{};
  what.mutable_logs()->mutable_what()->add_ranks(found->rank);
  what.mutable_logs()->mutable_what()->set_outputs(found->outputs);
  what.mutable_logs()->mutable_what()->set_tail(limits_.line_count);
  what.mutable_logs()->set_window(window);
  ask(std::move(what), std::move(done));
}

void worker_views::stacks(std::string_view query, http_callback done) {
  const auto found = wish_in(query);
  if (!found)
    return done(reply_to_nonsense());
  auto what = v1::OperatorRequest{};
  what.mutable_stacks()->add_ranks(found->rank);
  ask(std::move(what), std::move(done));
}

void worker_views::ask(v1::OperatorRequest what, http_callback done) {
  if (questions_.size() >= limits_.question_count)
    return done(text_reply(503, "too many questions at a time; ask again"));
  const auto number = ++last_;
  auto& added = questions_[number];
  added.done = std::move(done);
  added.is_of_log = what.has_logs();
  added.deadline
    = home_.after(limits_.answer, [this, number] { on_late(number); });
  what.set_number(number);
  ask_({std::move(what), reply_path::of(path_, number), "a page", false,
        session_});
}

void worker_views::on_reply(uint64_t number, v1::OperatorReply x) {
  if (!questions_.contains(number))
    return; // It came too late.
  if (x.has_logs())
    return on_lines(number, std::move(*x.mutable_logs()));
  if (x.has_stacks())
    return finish(number, json_reply(to_json(x.stacks())));
  const auto why = refusal_in(x, "what was asked");
  finish(number,
         text_reply(why.code == errc::bad_argument ? 404 : 503, why.text));
}

void worker_views::on_lines(uint64_t number, v1::LogLines x) {
  auto& known = questions_.at(number);
  auto cost = size_t{0};
  for (auto& line : *x.mutable_lines()) {
    cost += core::log_line_cost(line.text().size());
    known.size += line.text().size();
    known.lines.push_back(std::move(line));
  }
  while (known.lines.size() > 1 && known.size > limits_.size) {
    known.size -= known.lines.front().text().size();
    known.lines.pop_front();
  }
  if (!x.trouble().empty())
    known.trouble = shown(x.trouble());
  if (!x.is_end()) {
    if (cost > 0)
      grant(number, static_cast<uint32_t>(cost));
    return;
  }
  auto all = v1::LogLines{};
  all.set_trouble(known.trouble);
  for (auto& line : known.lines)
    *all.add_lines() = std::move(line);
  finish(number, json_reply(to_json(all)));
}

void worker_views::on_late(uint64_t number) {
  if (questions_.at(number).is_of_log)
    grant(number, 0);
  finish(number, text_reply(503, "the job does not answer"));
}

/// @param size 0: the reading ends.
void worker_views::grant(uint64_t number, uint32_t size) {
  auto what = v1::OperatorRequest{};
  what.mutable_log_credit()->set_number(number);
  what.mutable_log_credit()->set_size(size);
  ask_({std::move(what), [](const v1::OperatorReply&) {}, "a page", false,
        session_});
}

void worker_views::finish(uint64_t number, const http_reply& x) {
  const auto known = questions_.extract(number);
  home_.cancel(known.mapped().deadline);
  known.mapped().done(x);
}

} // namespace actorrun::detail
