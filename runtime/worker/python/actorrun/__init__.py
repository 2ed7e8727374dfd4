"""actorrun for Python: worker programs that live through changes, and launchers.

`actorrun.launcher`, `actorrun.run` and `actorrun.multiprocessing` have the names of torch
and start the program `actorrun`; see docs/python.md. This is for worker programs:

    import actorrun

    for generation in actorrun.generations():      # Under plain torchrun: once.
        with generation:                      # Ends early when the group changes.
            dist.init_process_group("gloo")
            if generation.survivors:
                sync_state(model, source=generation.survivors[0])
            for batch in data:
                train(model, batch)
                step += 1
                generation.safe_point(step)   # Where a change that can wait happens.

`computing` says how long a worker computes per step, so that one that is slower than the
others is found; see docs/stragglers.md. `saving` and `saved` say when it saves, so that it
is known how much work a failure costs; see docs/time.md.

Pure standard library. `import actorrun.torch` besides, and process groups of
torch are aborted when the group changes, and destroyed at the end of each block.
"""
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._generations import (AgentLost, Generation, Interrupt, Ranks, Regroup,
                               generations, on_leave, on_regroup, on_stop)
    from ._steps import computed, computing, saved, saving

__all__ = ["AgentLost", "Generation", "Interrupt", "Ranks", "Regroup", "computed",
           "computing", "generations", "on_leave", "on_regroup", "on_stop", "saved",
           "saving"]
__version__ = "0.9.0"


# torch imports this package at the end of `import torch`: that must cost nothing.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'actorrun' has no attribute {name!r}")
    if name in ("computed", "computing", "saved", "saving"):
        from . import _steps as source
    else:
        from . import _generations as source
    found = globals()[name] = getattr(source, name)  # Once: a step is to cost little.
    return found
