#include "runtime/os/munge.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/shared_library.hpp"

#include <cstdlib>
#include <mutex>
#include <optional>

namespace actorrun::detail {

namespace {

constexpr auto library_name = "libmunge.so.2";

// What we call of its binary interface, which no package is needed for then. The
// numbers are those of munge.h, and never change: daemons and libraries of different
// versions exchange them.
struct functions {
  void* (*create)() = nullptr;
  void (*destroy)(void* context) = nullptr;
  int (*set)(void* context, int option, ...) = nullptr;
  const char* (*why)(void* context)
    = nullptr; ///< Null: the last call was fine.
  int (*encode)(char** credential, void* context, const void* text, int size)
    = nullptr;
  int (*decode)(const char* credential, void* context, void** text, int* size,
                uid_t*, gid_t*)
    = nullptr;
};

enum option : int { cipher = 0, socket_path = 8, only_reader = 9 };
constexpr int aes_128 = 4;

enum code : int {
  success = 0,
  bad_credential = 8,
  bad_realm = 13,
  invalid = 14, ///< Another key, or changed.
  expired = 15,
  of_the_future = 16,
  replayed = 17,
  unauthorized = 18,
};

bool find_all(const shared_library& from, functions& out) {
  return from.find("munge_ctx_create", out.create)
         && from.find("munge_ctx_destroy", out.destroy)
         && from.find("munge_ctx_set", out.set)
         && from.find("munge_ctx_strerror", out.why)
         && from.find("munge_encode", out.encode)
         && from.find("munge_decode", out.decode);
}

result<functions> load() {
  const auto library = shared_library::load(library_name);
  if (!library)
    return failure{errc::connection_failed,
                   "munge is not installed: " + library.error().text};
  auto out = functions{};
  if (!find_all(*library, out))
    return failure{errc::connection_failed,
                   formatted("munge is of another version: {} lacks functions",
                             library_name)};
  return out;
}

/// The settings of one call.
class context {
public:
  explicit context(const functions& munge)
    : munge_(munge), context_(munge.create()) {
    const auto* path = std::getenv(munge_socket_variable);
    if (path != nullptr && *path != '\0')
      set(socket_path, path);
  }
  ~context() { munge_.destroy(context_); }

  context(const context&) = delete;
  context& operator=(const context&) = delete;

  template <class Value>
  void set(option which, Value value) {
    is_usable_
      = is_usable_ && context_ && munge_.set(context_, which, value) == success;
  }

  bool is_usable() const { return context_ && is_usable_; }
  void* get() const { return context_; }

  failure explain(errc reason, std::string_view text) const {
    const auto* why = munge_.why(context_);
    return {reason, why ? formatted("{}: {}", text, why) : std::string{text}};
  }

private:
  const functions& munge_;
  void* context_;
  bool is_usable_ = true;
};

failure explain(int code, const context& call) {
  switch (code) {
    case bad_credential:
    case bad_realm:
    case invalid:
      return call.explain(errc::secret_mismatch,
                          "munge refuses the credential; give all nodes the"
                          " same /etc/munge/munge.key");
    case expired:
    case of_the_future:
      return call.explain(errc::connection_failed,
                          "munge refuses the credential; compare the clocks of"
                          " the nodes");
    case replayed:
      return call.explain(errc::connection_failed,
                          "munge refuses the credential, which was sent here"
                          " before");
    case unauthorized:
      return call.explain(errc::user_mismatch,
                          "munge says that the credential is another user's");
    default:
      return call.explain(errc::connection_failed, "munge does not answer");
  }
}

failure no_memory() {
  return {errc::connection_failed, "munge has no memory"};
}

class host_service final : public munge_service {
public:
  result<std::string> seal(const std::string& text, uid_t reader) override {
    const auto munge = library();
    if (!munge)
      return munge.error();
    auto call = context{*munge};
    // A site may have chosen that nothing is encrypted unless it is asked for.
    call.set(cipher, aes_128);
    if (reader != any_user)
      call.set(only_reader, reader);
    if (!call.is_usable())
      return no_memory();
    char* credential = nullptr;
    const auto code = munge->encode(&credential, call.get(), text.data(),
                                    static_cast<int>(text.size()));
    const auto owner = std::unique_ptr<char, void (*)(void*)>{credential, free};
    if (code != success)
      return explain(code, call);
    return std::string{credential};
  }

  result<opened_text> open(const std::string& credential) override {
    const auto munge = library();
    if (!munge)
      return munge.error();
    const auto call = context{*munge};
    if (!call.is_usable())
      return no_memory();
    void* text = nullptr;
    int size = 0;
    auto out = opened_text{};
    auto group = gid_t{0};
    const auto code = munge->decode(credential.c_str(), call.get(), &text,
                                    &size, &out.user, &group);
    const auto owner = std::unique_ptr<void, void (*)(void*)>{text, free};
    if (code != success)
      return explain(code, call);
    if (text != nullptr)
      out.text.assign(static_cast<const char*>(text),
                      static_cast<size_t>(size));
    return out;
  }

private:
  // What has failed is tried again.
  result<functions> library() {
    const auto lock = std::lock_guard{mutex_};
    if (loaded_)
      return *loaded_;
    auto x = load();
    if (x)
      loaded_ = *x;
    return x;
  }

  std::mutex mutex_;
  std::optional<functions> loaded_; // Guarded by mutex_.
};

} // namespace

std::shared_ptr<munge_service> munge_of_host() {
  return std::make_shared<host_service>();
}

} // namespace actorrun::detail
