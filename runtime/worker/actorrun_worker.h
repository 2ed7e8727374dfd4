/* For worker programs in any language: what timers.hpp, record.hpp, steps.hpp, saves.hpp
   and live.hpp offer, as plain C. */
#ifndef ACTORRUN_RUNTIME_WORKER_ACTORRUN_WORKER_H
#define ACTORRUN_RUNTIME_WORKER_ACTORRUN_WORKER_H

#include "live.h"
#include "record.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  /* The message is sent, or will be soon. */
  ACTORRUN_TIMER_OK = 0,
  /* No timer server: the program was not started by actorrun. No error. */
  ACTORRUN_TIMER_NO_SERVER = 1,
  /* The server has not read for long; the message is lost. */
  ACTORRUN_TIMER_LOST = -1,
  /* A null pointer, a text that is too long, no such signal, no FIFO. */
  ACTORRUN_TIMER_BAD_ARGUMENT = -2
};

/* Chooses the timer server (the path of a FIFO; "": none) and the signal that an
   overrun ends in: 1..64; 0 or less: it is only written down. Without this call
   it is the agent that has started the program, and SIGKILL. */
int actorrun_timer_configure(const char* path, int signal);

/* Starts the timer of a scope, or gives it a new deadline. The scope is UTF-8.
   after_ns: nanoseconds from now on; 0 or less is an overrun at once. */
int actorrun_timer_acquire(const char* scope, int64_t after_ns);

/* Ends the timer of a scope, if there is one. */
int actorrun_timer_release(const char* scope);

/* For loops, once per step: if this does not come again within so many
   nanoseconds, the worker is stuck. After the last step, release the name. */
int actorrun_timer_alive(const char* name, int64_t within_ns);

/* How many messages were lost in this process. */
uint64_t actorrun_timer_lost_count(void);

/* This worker has computed a step in so many nanoseconds, without what it has waited for
   others: once per step, by one thread. The agent compares all workers of the job. */
void actorrun_computed(int64_t time_ns);

/* This worker saves from now on. */
void actorrun_saving(void);

/* It has saved. time_ns < 0: what was computed before actorrun_saving is safe; without that
   call, what was computed until now. Otherwise the save took so many nanoseconds until now, as
   something else has measured it; 0: none, beside the training. */
void actorrun_saved(int64_t time_ns);

/* It saves no more, and nothing is safe by that. */
void actorrun_save_failed(void);

#ifdef __cplusplus
}
#endif

#endif
