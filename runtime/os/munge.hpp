// Seals texts for one user of the cluster by munge(7), and opens what is sealed:
// its daemons on all nodes share a key, and vouch for who has had a text sealed.
#pragma once

#include "messages/result.hpp"

#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace actorrun::detail {

/// Names another socket of the daemon than the library's own, for tests and for
/// clusters that have several.
inline constexpr const char* munge_socket_variable = "ACTORRUN_MUNGE_SOCKET";

/// What munge is to do.
struct munge_task {
  enum class kind { seal, open };
  kind what = kind::seal;
  std::string text; ///< A credential, if it is to be opened.

  friend bool operator==(const munge_task&, const munge_task&) = default;
};

/// A text, and the user that has had it sealed.
struct opened_text {
  std::string text;
  uid_t user = 0; ///< As the daemon numbers users, which a container may not.
};

/// The calls block for as long as the daemon does not answer: up to ten seconds.
/// They may come from any thread.
class munge_service {
public:
  /// Lets every user open a text.
  static constexpr auto any_user = static_cast<uid_t>(-1);

  virtual ~munge_service() = default;

  /// Encrypts and signs a text.
  /// @param reader Whose processes alone can open it.
  /// @returns a credential: printable, a third longer than the text and some 150
  ///          bytes
  /// @retval errc::connection_failed  munge is not there, or does not answer; the
  ///         text says `munge …`
  virtual result<std::string> seal(const std::string& text, uid_t reader) = 0;

  /// Opens a credential. Each can be opened once on each node.
  /// @retval errc::connection_failed  as `seal`; or it was opened before here, or
  ///         is of another time
  /// @retval errc::user_mismatch      it is for another user
  /// @retval errc::secret_mismatch    it is none, was changed, or the daemons have
  ///         different keys
  virtual result<opened_text> open(const std::string& credential) = 0;
};

/// The daemon of this host. Loads munge's library with the first call, so that
/// hosts without it have only that to say.
std::shared_ptr<munge_service> munge_of_host();

} // namespace actorrun::detail
