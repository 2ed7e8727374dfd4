/* For worker programs in any language: see record.hpp. */
#ifndef ACTORRUN_RUNTIME_WORKER_RECORD_H
#define ACTORRUN_RUNTIME_WORKER_RECORD_H

#ifdef __cplusplus
extern "C" {
#endif

/* From now on a fatal signal, or an uncaught C++ exception, is
   written to the file that TORCHELASTIC_ERROR_FILE names. Call it on the main
   thread, early. Without the variable it does nothing; a second call neither. */
void actorrun_record_enable(void);

#ifdef __cplusplus
}
#endif

#endif
