#include "runtime/etcd/members.hpp"

#include "messages/formatted.hpp"
#include "runtime/etcd/messages.hpp"
#include "runtime/network/frames.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::detail {

namespace {

result<http_answer> ask(etcd_http& whom, const std::string& path,
                        const std::string& body,
                        etcd_http::clock::time_point deadline) {
  auto answer = whom.post(path, body, deadline);
  if (answer && answer->status == not_etcd_status)
    return failure{errc::settings_mismatch,
                   formatted("at {} a coordinator of actorrun listens, not "
                             "etcd: its job does not meet through etcd",
                             whom.url())};
  if (answer && etcd::is_unavailable(*answer))
    return failure{
      errc::etcd_unreachable,
      formatted("etcd at {} is out of reach of its cluster", whom.url())};
  return answer;
}

/// A temporary failure takes precedence over permanent ones.
failure all_of(const std::vector<failure>& them) {
  auto out = failure{them.front().code, ""};
  for (const auto& x : them) {
    if (x.code == errc::etcd_unreachable)
      out.code = x.code;
    out.text += (out.text.empty() ? "" : "; ") + x.text;
  }
  return out;
}

} // namespace

result<std::unique_ptr<etcd_members>>
etcd_members::open(std::vector<endpoint> where, const etcd_options& options,
                   log lines) {
  assert(!where.empty());
  auto out = std::unique_ptr<etcd_members>{new etcd_members{std::move(lines)}};
  for (auto& x : where) {
    auto http = etcd_http::open(x, options);
    if (!http)
      return http.error();
    out->members_.push_back({std::move(x), std::move(*http)});
  }
  return out;
}

result<http_answer> etcd_members::post(const std::string& path,
                                       const std::string& body,
                                       clock::time_point deadline) {
  const auto count = members_.size();
  auto failures = std::vector<failure>{};
  for (size_t i = 0; i < count; ++i) {
    const auto index = (current_ + i) % count;
    const auto now = clock::now();
    const auto part
      = std::max(deadline - now, clock::duration{0}) / int64_t(count - i);
    auto answer = ask(*members_[index].http, path, body, now + part);
    if (!answer) {
      failures.push_back(answer.error());
      continue;
    }
    if (i != 0)
      move_to(index, failures.front());
    return answer;
  }
  return all_of(failures);
}

void etcd_members::move_to(size_t index, const failure& why) {
  current_ = index;
  lines_.warn(formatted("etcd is now asked at {}: {}",
                        members_[index].http->url(), why.text));
}

void etcd_members::set_token(const std::string& token) {
  for (auto& x : members_)
    x.http->set_token(token);
}

etcd_link etcd_members::link() const {
  const auto& x = members_[current_];
  return {x.http->local_address(), x.where};
}

void etcd_members::hurry(clock::time_point deadline) {
  for (auto& x : members_)
    x.http->hurry(deadline);
}

} // namespace actorrun::detail
