"""A home that lasts: a directory among the plugin's data, in which links lead to what the confinement shows of the
person's own. Runs in the confinement, so nothing that a plugin leaves there can lead out of it."""
import os

_MOST = 500
_PLACES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


def enter(home):
    """Make `home` the home of this process and of those that it starts; without it the old one stays."""
    seen = os.environ.get("HOME")
    try:
        os.makedirs(home, 0o700, exist_ok=True)
    except OSError:
        return
    if seen and os.path.isdir(seen):
        _link(seen, home)
    os.environ["HOME"] = home
    for name in _PLACES:
        os.environ.pop(name, None)


def _link(seen, home):
    """Link what is mounted or linked below `seen` into `home`; directories that only lead there are made anew."""
    device = os.stat(seen).st_dev
    directories, left = [""], _MOST
    while directories and left > 0:
        part = directories.pop()
        _clean(home, part)
        try:
            entries = list(os.scandir(os.path.join(seen, part)))
        except OSError:
            continue
        for entry in entries[:left]:
            name = os.path.join(part, entry.name)
            try:
                if _offer(entry, os.path.join(home, name), device):
                    directories.append(name)
            except OSError:
                continue
        left -= len(entries)


def _offer(entry, place, device):
    """Put one entry at its place; say whether it is a directory whose entries come one by one."""
    is_directory = entry.is_dir(follow_symlinks=False)
    if is_directory and entry.stat(follow_symlinks=False).st_dev == device:
        if not os.path.lexists(place):
            os.mkdir(place, 0o700)
        return True
    if not os.path.lexists(place) and not place.startswith(entry.path + os.sep):
        os.symlink(os.readlink(entry.path) if entry.is_symlink() else entry.path, place)
    return False


def _clean(home, part):
    """Take out links of an earlier time that lead nowhere."""
    try:
        entries = list(os.scandir(os.path.join(home, part)))
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink() and not os.path.exists(entry.path):
            if os.readlink(entry.path).endswith(os.sep + os.path.join(part, entry.name)):
                os.unlink(entry.path)
