"""Files that end or hold up the Python that loads them. The program is told which file is being loaded, so that it knows of
a process that does not come back what it was at. The next one is started without the file, and the others can be used.
"""
_AGAIN = "it is tried again when files of the plugin change, and after a day"


class Unloadable(Exception):
    """Why a file is not loaded."""

    def __init__(self, message, hint):
        super().__init__(message)
        self.hint = hint


class Files:
    """The files of one plugin or directory of plugins.

    `left_out` of the parameters says of some how they ended a process. Where that took all the time there is, `last` names
    the last of them: what comes behind it was never tried.
    """

    def __init__(self, worker, params, again=_AGAIN):
        self._worker = worker
        self._left_out = params.get("left_out") or {}
        self._last = params.get("last")
        self._again = again
        self._is_over = False
        self._tried = set()

    def load(self, files, work):
        """What `work` returns, which loads the first of the files, and the others on the way to it."""
        if not files:
            return work()
        file = files[0]
        fate = self._left_out.get(file)
        self._is_over = self._is_over or file == self._last
        if fate is not None:
            what = "it was not loaded, since Python did not come back from that: %s" % fate
            raise Unloadable(what, "correct the file or what it loads; " + self._again)
        if self._is_over and file not in self._tried:
            what = "it was not tried, since Python did not come back from too many others, of which %s was the last"
            raise Unloadable(what % self._last, "correct those or what they load; " + self._again)
        self._tried.add(file)
        self._worker.notify("loading", {"file": file})
        try:
            return work()
        finally:
            self._worker.notify("loading", {})
