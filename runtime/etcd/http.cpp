#include "runtime/etcd/http.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <unistd.h>

namespace actorrun::detail {

namespace {

using std::chrono::milliseconds;

/// `https://[fe80::1%25eth0]:2379`
std::string url_of(const endpoint& where, bool secure) {
  auto host = to_string(where);
  if (const auto scope = host.find('%'); scope != host.npos)
    host.insert(scope + 1, "25");
  return (secure ? "https://" : "http://") + host;
}

/// Its destructor frees the list.
struct header_list {
  const curl_library& library;
  curl_slist* first = nullptr;

  explicit header_list(const curl_library& x) : library(x) {}
  ~header_list() { library.slist_free_all(first); }
  header_list(const header_list&) = delete;
  header_list& operator=(const header_list&) = delete;

  void add(const std::string& line) {
    if (auto* longer = library.slist_append(first, line.c_str()))
      first = longer;
  }
};

/// Checked at once, not when the first connection is made.
result<void> check_files(const etcd_options& x) {
  for (const auto& [name, path] :
       {std::pair{"cacert", x.authority_file},
        std::pair{"cert", x.certificate_file}, std::pair{"key", x.key_file}})
    if (!path.empty() && ::access(path.c_str(), R_OK) != 0)
      return failure{errc::etcd_denied, formatted("{}: {}: {}", name, path,
                                                  system_error_text(errno))};
  return {};
}

bool is_about_trust(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM
         || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_ISSUER_ERROR
         || code == CURLE_SSL_INVALIDCERTSTATUS
         || code == CURLE_SSL_PINNEDPUBKEYNOTMATCH;
}

} // namespace

/// The state of one request.
struct etcd_http::exchange {
  const std::string& body;
  header_list headers;
  http_answer answer{};
  size_t header_size = 0;
  bool is_too_long = false;
  std::array<char, CURL_ERROR_SIZE> error{};

  static size_t count_header(char*, size_t one, size_t count, void* self) {
    auto& x = *static_cast<exchange*>(self);
    x.header_size += one * count;
    x.is_too_long = x.header_size > http_answer_size_max;
    return x.is_too_long ? 0 : one * count;
  }

  static size_t write(char* data, size_t one, size_t count, void* self) {
    auto& x = *static_cast<exchange*>(self);
    const auto size = one * count;
    if (x.answer.body.size() + size > http_answer_size_max) {
      x.is_too_long = true;
      return 0; // Ends the request.
    }
    x.answer.body.append(data, size);
    return size;
  }
};

result<std::unique_ptr<etcd_http>>
etcd_http::open(const endpoint& where, const etcd_options& options) {
  if (auto ok = check_files(options); !ok)
    return ok.error();
  const auto library = curl();
  if (!library)
    return library.error();
  auto out = std::unique_ptr<etcd_http>{
    new etcd_http{**library, url_of(where, options.secure), options}};
  if (out->multi_ == nullptr || out->easy_ == nullptr)
    return failure{errc::system_failure, "libcurl has no memory"};
  return out;
}

etcd_http::etcd_http(const curl_library& library, std::string url,
                     etcd_options options)
  : library_(library), url_(std::move(url)), options_(std::move(options)),
    multi_(library.multi_init()), easy_(library.easy_init()) {}

etcd_http::~etcd_http() {
  if (easy_ != nullptr)
    library_.easy_cleanup(easy_);
  if (multi_ != nullptr)
    library_.multi_cleanup(multi_);
}

void etcd_http::prepare(const exchange& x, const std::string& path) {
  const auto set = [this](CURLoption option, auto value) {
    library_.easy_setopt(easy_, option, value);
  };
  const auto set_path = [&](CURLoption option, const std::string& file) {
    if (!file.empty())
      set(option, file.c_str());
  };
  set(CURLOPT_URL, (url_ + path).c_str());
  set(CURLOPT_POSTFIELDSIZE, long(x.body.size()));
  set(CURLOPT_POSTFIELDS, x.body.c_str());
  set(CURLOPT_HTTPHEADER, x.headers.first);
  set(CURLOPT_HEADERFUNCTION, &exchange::count_header);
  set(CURLOPT_HEADERDATA, &x);
  set(CURLOPT_WRITEFUNCTION, &exchange::write);
  set(CURLOPT_WRITEDATA, &x);
  set(CURLOPT_ERRORBUFFER, x.error.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROXY, "*");
  set_path(CURLOPT_CAINFO, options_.authority_file);
  set_path(CURLOPT_SSLCERT, options_.certificate_file);
  set_path(CURLOPT_SSLKEY, options_.key_file);
  // For an encrypted key: otherwise libcurl would prompt the user and block.
  set(CURLOPT_KEYPASSWD, "");
}

result<http_answer> etcd_http::post(const std::string& path,
                                    const std::string& body,
                                    clock::time_point deadline) {
  auto x = exchange{.body = body, .headers = header_list{library_}};
  x.headers.add("Content-Type: application/json");
  x.headers.add("Expect:"); // No round trip before the body.
  if (!token_.empty())
    x.headers.add("Authorization: " + token_);
  prepare(x, path);
  if (library_.multi_add_handle(multi_, easy_) != CURLM_OK)
    return failure{errc::system_failure, "libcurl has no memory"};
  const auto code = run(deadline);
  library_.multi_remove_handle(multi_, easy_);
  library_.easy_setopt(easy_, CURLOPT_ERRORBUFFER, nullptr); // It ends here.
  if (code != CURLE_OK)
    return explain(code,
                   x.is_too_long ? "the answer is too long" : x.error.data());
  library_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &x.answer.status);
  const char* address = nullptr;
  library_.easy_getinfo(easy_, CURLINFO_LOCAL_IP, &address);
  if (address != nullptr && *address != '\0')
    local_address_ = address;
  return std::move(x.answer);
}

CURLcode etcd_http::run(clock::time_point deadline) {
  for (;;) {
    auto running = 0;
    if (library_.multi_perform(multi_, &running) != CURLM_OK)
      return CURLE_OUT_OF_MEMORY;
    auto left = 0;
    while (auto* message = library_.multi_info_read(multi_, &left))
      if (message->msg == CURLMSG_DONE)
        return message->data.result;
    const auto end = std::min(deadline, clock::time_point{latest_.load()});
    const auto now = clock::now();
    if (now >= end)
      return CURLE_OPERATION_TIMEDOUT;
    const auto wait = std::chrono::ceil<milliseconds>(end - now);
    library_.multi_poll(multi_, nullptr, 0,
                        int(std::min<int64_t>(wait.count(), 60'000)), nullptr);
  }
}

void etcd_http::hurry(clock::time_point deadline) {
  latest_ = deadline.time_since_epoch();
  library_.multi_wakeup(multi_);
}

failure etcd_http::explain(CURLcode code, const std::string& detail) const {
  auto why
    = detail.empty() ? std::string{library_.easy_strerror(code)} : detail;
  if (code == CURLE_OPERATION_TIMEDOUT)
    why = "no answer in time";
  // With TLS 1.3 a server refuses our certificate after the handshake, and its
  // alert may be lost.
  const auto is_alert = why.find("alert") != why.npos;
  // What newer versions of curl say of a key that they cannot use.
  const auto is_about_key = code == CURLE_BAD_FUNCTION_ARGUMENT;
  const auto denied
    = is_about_trust(code) || (options_.secure && (is_alert || is_about_key));
  const auto is_cut = code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR
                      || code == CURLE_GOT_NOTHING
                      || why.find("reset by peer") != why.npos;
  if (options_.secure && is_cut && !denied)
    why += "; does it want a certificate that it trusts (cert, key)?";
  return {denied ? errc::etcd_denied : errc::etcd_unreachable,
          formatted("etcd at {}: {}", url_, why)};
}

} // namespace actorrun::detail
