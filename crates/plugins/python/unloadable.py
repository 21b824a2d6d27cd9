"""Files that ended or held up the Python that loaded them. Which file is being loaded stands in the plugin's data, where a
process that does not come back leaves it behind. One that is started because of that leaves the file out until it changes,
so that the others can be used.
"""
import json
import os

_KNOWN = ".unloadable"


class Unloadable(Exception):
    """Why a file is not loaded."""

    hint = "mend the file; it is tried again when it changes"


class Files:
    """The files of one plugin or folder of plugins. `loading` names the mark of this program among others that run
    beside it, and says how the last process of it ended, where that was while it loaded something.
    """

    def __init__(self, data, loading):
        self._known = {}
        self._mark = None
        if not data or not loading:
            return
        fate = loading.get("fate")
        self._mark = os.path.join(data, loading["mark"])
        self._list = os.path.join(data, _KNOWN)
        self._known = _read(self._list)
        left = _read(self._mark)
        if fate and left:
            self._known.update({file: [stamp, fate] for file, stamp in left.items()})
            _write(self._list, self._known)
        self._unmark()

    def load(self, file, work):
        """What `work` returns, which loads the file."""
        stamp = _stamp(file)
        known = self._known.get(file)
        if known and known[0] == stamp:
            raise Unloadable("it was not loaded, since Python did not come back from that: %s" % known[1])
        if not self._mark:
            return work()
        _write(self._mark, {file: stamp})
        try:
            return work()
        finally:
            self._unmark()

    def _unmark(self):
        try:
            os.unlink(self._mark)
        except OSError:
            pass  # There is none, or nothing can be written here.


def _stamp(file):
    try:
        found = os.stat(file)
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(path, known):
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(known, file)
    except OSError:
        pass  # Where the mode lets it write nothing, it is asked about again.
