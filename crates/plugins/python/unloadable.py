"""Files that end or hold up the Python that loads them. The program is told which file is being loaded, so that it knows of
a process that does not come back what it was at. The next one is started without the file, and the others can be used.
"""


class Unloadable(Exception):
    """Why a file is not loaded."""

    hint = "mend the file or what it loads; it is tried again when files of the plugin change, and after a day"


class Files:
    """The files of one plugin or folder of plugins; `left_out` says of some how they ended a process."""

    def __init__(self, worker, left_out):
        self._worker = worker
        self._left_out = left_out or {}

    def load(self, files, work):
        """What `work` returns, which loads the first of the files, and the others on the way to it."""
        if not files:
            return work()
        fate = self._left_out.get(files[0])
        if fate is not None:
            raise Unloadable("it was not loaded, since Python did not come back from that: %s" % fate)
        self._worker.notify("loading", {"file": files[0]})
        try:
            return work()
        finally:
            self._worker.notify("loading", {})
