"""Is a worker that calls a function, or becomes a program, as `_functions` has written.

    python _function_worker.py FOLDER LOCAL_RANK

It does not import the package: where that lies comes with the call.
"""
import errno
import json
import os
import pickle
import sys
import time
import traceback

ERROR_FILE = "TORCHELASTIC_ERROR_FILE"


def read_call(folder, local_rank):
    path = os.path.join(folder, "call." + local_rank)
    if not os.path.exists(path):
        path = os.path.join(folder, "call")
    with open(path, "rb") as file:
        return pickle.load(file), file.read()


def take_environment(environment):
    """Returns the variables that the agent has set."""
    agents = dict(os.environ)
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment)
        if ERROR_FILE in agents:
            os.environ[ERROR_FILE] = agents[ERROR_FILE]
    return agents


def say_started(folder, local_rank):
    try:
        pipe = os.open(os.path.join(folder, "started"), os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENXIO):
            return  # It is not asked for, or not any more.
        raise
    word = {"local_rank": int(local_rank), "pid": os.getpid(),
            "error_file": os.environ.get(ERROR_FILE, "")}
    os.write(pipe, json.dumps(word).encode() + b"\n")
    os.close(pipe)


def become(words):
    try:
        os.execvpe(words[0], words, os.environ)
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(127 if error.errno == errno.ENOENT else 126)


def load(prepared, call):
    """Returns the function and its arguments.

    The main module is imported besides, which must start no process of its own then.
    """
    from multiprocessing import process, spawn
    process.current_process()._inheriting = True
    try:
        spawn.prepare(prepared)
        return pickle.loads(call)
    finally:
        del process.current_process()._inheriting


def as_recorded(function):
    """Returns the function with torch's `record` around it, where torch is in use."""
    if "torch" not in sys.modules:
        return function
    try:
        from torch.distributed.elastic.multiprocessing.errors import record
    except ImportError:
        return function
    return record(function)


def write_error(error):
    """Writes what torch's `record` would, unless that has."""
    path = os.environ.get(ERROR_FILE)
    if not path or os.path.exists(path):
        return
    document = {"message": {
        "message": f"{type(error).__name__}: {error}",
        "extraInfo": {"py_callstack": traceback.format_exc(),
                      "timestamp": str(int(time.time()))}}}
    try:
        with open(path, "w") as file:
            json.dump(document, file)
    except OSError as x:
        print(f"{path}: {x.strerror}", file=sys.stderr)


def pickled(value):
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        try:
            import cloudpickle
        except ImportError:
            cloudpickle = None
        if cloudpickle is None:
            raise
    return cloudpickle.dumps(value)


def write_value(folder, value, variables):
    """Writes what the function has returned, whole or not at all."""
    name = f"value.{variables['ACTORRUN_GENERATION']}.{variables['RANK']}"
    path = os.path.join(folder, name)
    with open(path + ".part", "wb") as file:
        file.write(pickled(value))
    os.replace(path + ".part", path)


def main(folder, local_rank):
    # Where this file is, and others with names that are not ours alone.
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [x for x in sys.path if x != own]
    header, call = read_call(folder, local_rank)
    agents = take_environment(header["environment"])
    say_started(folder, local_rank)
    if "words" in header:
        become(header["words"])
    try:
        function, arguments = load(header["prepared"], call)
        value = as_recorded(function)(*arguments)
        # A worker that has lived through changes has the variables of the last one.
        own = header["environment"] is not None
        write_value(folder, value, agents if own else os.environ)
    except Exception as error:
        write_error(error)
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
