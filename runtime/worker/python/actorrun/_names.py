"""Has the names of torch that the launcher uses: torch's, or ours where it is not there."""
try:
    from torch.distributed.elastic.multiprocessing import (
        PContext, ProcessFailure, RunProcsResult, SignalException, Std)
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig
    HAS_TORCH = True
except ImportError:
    from ._own import (ChildFailedError, LaunchConfig, PContext,  # type: ignore
                       ProcessFailure, RunProcsResult, SignalException, Std)
    HAS_TORCH = False

if HAS_TORCH:
    try:  # Before 2.3 the folder and the streams were fields of LaunchConfig.
        from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    except ImportError:
        DefaultLogsSpecs = None
else:
    from ._own import DefaultLogsSpecs  # type: ignore

__all__ = ["ChildFailedError", "DefaultLogsSpecs", "HAS_TORCH", "LaunchConfig",
           "PContext", "ProcessFailure", "RunProcsResult", "SignalException", "Std"]
