// Defines what the guides of both programs have in common.
#pragma once

#include "cli/guide/guide.hpp"

namespace actorrun::cli {

inline void append_common_environment(std::vector<guide_entry>& out) {
  out.push_back({"ACTORRUN_SECRET",
                 "the secret, if there is no --secret-file. Workers do"
                 " not get it."});
  out.push_back({"ACTORRUN_MUNGE_SOCKET",
                 "munged's socket, if it is not where munge's library looks for"
                 " it."});
  out.push_back({"SLURM_JOB_ID",
                 "set: munge may take the place of a secret, see --munge."});
  out.push_back({"ACTORRUN_RUN_DIR", "the run-time folder."});
  out.push_back({"XDG_RUNTIME_DIR", "the parent of the run-time folder, if"
                                    " ACTORRUN_RUN_DIR is not set."});
  out.push_back({"NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID",
                 "the service manager that has started the program, such as"
                 " systemd: it is notified of start, state and end. Workers do"
                 " not get them."});
  out.push_back(
    {"LOGLEVEL",
     "DEBUG, INFO (default), WARNING, ERROR or CRITICAL: which lines"
     " the program itself logs."});
}

inline guide_entry run_time_folder() {
  return {"$ACTORRUN_RUN_DIR, $XDG_RUNTIME_DIR/actorrun, /tmp/actorrun-UID",
          "The run-time folder: sockets through which actorctl asks the jobs of"
          " this user on this host, and timer FIFOs. Where another user has"
          " taken /tmp/actorrun-UID, a dash and 6 random characters follow."};
}

inline guide_entry own_secret() {
  return {"~/.config/actorrun/secret",
          "This user's secret, for all jobs that are given no other; below"
          " $XDG_CONFIG_HOME if that is set. actorctl secret create makes it."};
}

} // namespace actorrun::cli
