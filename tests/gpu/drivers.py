"""Asks NVML and CUDA, or the stand-ins for them, without torch: in milliseconds."""
import ctypes
import os
import subprocess
import sys


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong),
                ("used", ctypes.c_ulonglong)]


class Nvml:
    """The GPUs of this machine, by their numbers.

    Raises:
        OSError: there is no NVML, or it does not answer.
    """

    def __init__(self):
        self._library = ctypes.CDLL(
            os.environ.get("ACTORRUN_NVML_LIBRARY", "libnvidia-ml.so.1"))
        self._call("nvmlInit_v2")

    def _call(self, name, *arguments):
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise OSError(f"{name} has failed with code {code}")

    def _handle(self, number):
        out = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(number),
                   ctypes.byref(out))
        return out

    def _text(self, name, number):
        out = ctypes.create_string_buffer(96)
        self._call(name, self._handle(number), out, ctypes.c_uint(len(out)))
        return out.value.decode()

    def count(self):
        out = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(out))
        return out.value

    def uuid(self, number):
        return self._text("nvmlDeviceGetUUID", number)

    def name(self, number):
        return self._text("nvmlDeviceGetName", number)

    def memory(self, number=0):
        """Returns: bytes that there are, and bytes that are in use."""
        out = _Memory()
        self._call("nvmlDeviceGetMemoryInfo", self._handle(number), ctypes.byref(out))
        return out.total, out.used

    def temperature(self, number=0):
        out = ctypes.c_uint()
        self._call("nvmlDeviceGetTemperature", self._handle(number), ctypes.c_uint(0),
                   ctypes.byref(out))
        return out.value


_COUNT = """
import ctypes, os
x = ctypes.CDLL(os.environ.get("ACTORRUN_CUDA_LIBRARY", "libcuda.so.1"))
n = ctypes.c_int()
print(n.value if x.cuInit(0) == 0 and x.cuDeviceGetCount(ctypes.byref(n)) == 0 else 0)
"""


def cuda_count(visible):
    """Returns: how many devices CUDA offers to a new process; None: no CUDA.

    Args:
        visible: CUDA_VISIBLE_DEVICES of it; None: not set.
    """
    environment = dict(os.environ)
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    done = subprocess.run([sys.executable, "-c", _COUNT], env=environment,
                          capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else None
