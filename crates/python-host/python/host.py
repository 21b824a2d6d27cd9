"""Starts a worker that serves one plugin to Brynhild.

Before anything else runs, the two ends of the channel are moved to private descriptors, so that whatever the plugin or
its children print lands on standard error and cannot corrupt an answer. `host.py --compile` writes bytecode instead.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def claim_channel():
    """Take descriptors 0 and 1 away from everybody else and return their private copies."""
    incoming, outgoing = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    return incoming, outgoing


def prepare_imports():
    """Make this directory the package `brynhild_host`, and the shim packages importable, and nothing else."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE or entry == ""]
    sys.path.insert(0, os.path.join(HERE, "shim"))
    package = type(sys)("brynhild_host")
    package.__path__ = [HERE]
    sys.modules["brynhild_host"] = package


def write_bytecode():
    """Compile what a worker imports, so that a confined start finds it compiled."""
    import compileall

    compileall.compile_dir(HERE, quiet=1)


def main():
    if sys.argv[1:] == ["--compile"]:
        write_bytecode()
        return
    incoming, outgoing = claim_channel()
    prepare_imports()
    sys.argv[:] = ["brynhild"]
    from brynhild_host.worker import Worker

    Worker(incoming, outgoing).run()


if __name__ == "__main__":
    main()
