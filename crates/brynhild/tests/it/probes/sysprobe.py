"""One attempt per run at something a confined process must not do. Prints ESC on success."""

import ctypes
import mmap
import os
import platform
import socket
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = platform.machine() == "x86_64"
NUMBERS = {
    "mount": (165, 40), "umount2": (166, 39), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "fsopen": (430, 430), "open_tree": (428, 428),
    "keyctl": (250, 219), "add_key": (248, 217), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "setns": (308, 268), "unshare": (272, 97), "clone3": (435, 435), "ioctl": (16, 29),
    "io_uring_setup": (425, 425), "userfaultfd": (323, 282), "bpf": (321, 280),
    "perf_event_open": (298, 241), "openat2": (437, 437),
}
NEWUSER, NEWNET = 0x10000000, 0x40000000


def call(name, *args):
    number = NUMBERS[name][0 if X86 else 1]
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return libc.syscall(ctypes.c_long(number), *wide)


def report(ok, what=""):
    if ok:
        print("ESC", what)
    else:
        print("refused", os.strerror(ctypes.get_errno()))


def attempt(action):
    try:
        action()
    except OSError as error:
        print("refused", error)
    else:
        print("ESC")


def handle_buffer():
    return ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128), 136)


def probe_handle_make(path):
    buffer, mount = handle_buffer(), ctypes.c_int()
    if call("name_to_handle_at", -100, path.encode(), buffer, ctypes.byref(mount), 0) == 0:
        print(buffer.raw.hex())


def probe_handle(text):
    buffer = ctypes.create_string_buffer(bytes.fromhex(text), 136)
    for place in ("/", os.getcwd(), "/usr"):
        try:
            anchor = os.open(place, os.O_RDONLY)
        except OSError:
            continue
        descriptor = call("open_by_handle_at", anchor, buffer, os.O_RDONLY)
        if descriptor >= 0:
            return report(True)
    report(False)


def probe_mount(path):
    report(call("mount", None, path.encode(), None, 32 | 4096, None) == 0)


def probe_umount(path):
    report(call("umount2", path.encode(), 2) == 0)


def probe_fdwrite(number):
    attempt(lambda: os.write(int(number), b"x"))


def probe_mknod(path):
    attempt(lambda: os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(254, 0)))


def probe_suid(path):
    def create():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755))
        if not os.stat(path).st_mode & 0o4000:
            raise OSError("the bit was dropped")
    attempt(create)


def probe_fsopen():
    report(call("fsopen", b"tmpfs", 0) >= 0)


def probe_open_tree():
    report(call("open_tree", -100, b"/", 1) >= 0)


def probe_keyctl_read():
    report(call("keyctl", 10, -4, b"user", b"brynhild-probes", 0) >= 0)


def probe_shm(key):
    report(libc.shmget(int(key), 0, 0) >= 0)


def probe_ptrace(pid):
    report(call("ptrace", 16, int(pid), 0, 0) == 0)


def probe_ptrace_child():
    pid = os.fork()
    if pid == 0:
        signal_pause = ctypes.CDLL(None).pause
        signal_pause()
    ok = call("ptrace", 16, pid, 0, 0) == 0
    report(ok)
    os.kill(pid, 9)


def probe_pvm(pid):
    try:
        with open(f"/proc/{pid}/maps") as maps:
            address = int(maps.readline().split("-")[0], 16)
    except OSError as error:
        return print("refused", error)
    buffer = ctypes.create_string_buffer(16)
    local = struct.pack("QQ", ctypes.addressof(buffer), 16)
    remote = struct.pack("QQ", address, 16)
    report(call("process_vm_readv", int(pid), local, 1, remote, 1, 0) > 0)


def probe_pidfd_getfd(pid):
    descriptor = call("pidfd_open", int(pid), 0)
    report(descriptor >= 0 and call("pidfd_getfd", descriptor, 0, 0) >= 0)


def probe_setns(pid):
    try:
        namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    except OSError as error:
        return print("refused", error)
    report(call("setns", namespace, 0x20000) == 0)


def probe_unshare_user():
    report(call("unshare", NEWUSER) == 0)


def probe_unshare_net():
    report(call("unshare", NEWUSER | NEWNET) == 0)


def probe_clone3_user():
    args = struct.pack("QQQQQQQQ", NEWUSER, 0, 0, 0, 17, 0, 0, 0)
    pid = call("clone3", args, 64)
    if pid == 0:
        os._exit(0)
    report(pid > 0)


def probe_unix(path):
    attempt(lambda: socket.socket(socket.AF_UNIX).connect(path))


def probe_abstract(name):
    attempt(lambda: socket.socket(socket.AF_UNIX).connect("\0" + name))


def probe_unixdgram(path):
    attempt(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", path))


def probe_unixpair(path):
    attempt(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", path))


def terminal(request):
    import fcntl
    import pty
    import termios
    master, slave = pty.openpty()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        byte = ctypes.create_string_buffer(b"x")
        ok = call("ioctl", slave, request, byte) == 0
        os._exit(42 if ok else 0)
    report(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42)


def probe_tiocsti():
    terminal(0x5412)


def probe_tiocsti_hi():
    terminal(0x5412 | 1 << 32)


def probe_tcp(port):
    attempt(lambda: socket.create_connection(("127.0.0.1", int(port)), 3))


def probe_udp(port):
    def talk():
        talker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        talker.settimeout(2)
        talker.sendto(b"x", ("127.0.0.1", int(port)))
        talker.recv(10)
    attempt(talk)


def probe_tfo(port):
    def talk():
        talker = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        talker.sendto(b"x", 0x20000000, ("127.0.0.1", int(port)))
        if not talker.recv(10):
            raise OSError("no answer")
    attempt(talk)


def probe_socket(family, kind, protocol):
    attempt(lambda: socket.socket(int(family), int(kind), int(protocol)))


def probe_int80(family):
    if not X86:
        return print("refused: no such interface")
    code = (b"\x53" + b"\xb8" + struct.pack("I", 359) + b"\xbb" + struct.pack("I", int(family))
            + b"\xb9\x01\x00\x00\x00" + b"\x31\xd2" + b"\xcd\x80" + b"\x5b\xc3")
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    report(function() >= 0)


def probe_io_uring():
    report(call("io_uring_setup", 1, ctypes.create_string_buffer(120)) >= 0)


def probe_userfaultfd():
    report(call("userfaultfd", 1) >= 0)


def probe_bpf():
    attributes = struct.pack("IIIII", 2, 4, 4, 1, 0) + bytes(100)
    report(call("bpf", 0, attributes, len(attributes)) >= 0)


def probe_perf():
    attributes = struct.pack("IIQQQQ", 1, 112, 0, 0, 0, 0) + struct.pack("Q", 1 | 1 << 5 | 1 << 6)
    attributes += bytes(112 - len(attributes))
    report(call("perf_event_open", attributes, 0, -1, -1, 0) >= 0)


def probe_add_key():
    report(call("add_key", b"user", b"brynhild-x", b"v", 1, -3) >= 0)


def probe_openat2(path):
    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    report(call("openat2", -100, path.encode(), how, 24) >= 0)


def probe_forkbomb(count):
    reader, writer = os.pipe()
    made = 0
    try:
        for _ in range(int(count)):
            if os.fork() == 0:
                os.close(writer)
                os.read(reader, 1)
                os._exit(0)
            made += 1
    except OSError:
        pass
    os.close(writer)
    report(made == int(count), str(made))


def probe_mem(megabytes):
    try:
        held = bytearray(int(megabytes) << 20)
        print("ESC", len(held))
    except MemoryError:
        print("refused")


def probe_falloc(path, megabytes):
    def fill():
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        os.posix_fallocate(descriptor, 0, int(megabytes) << 20)
    attempt(fill)


def probe_memfd_exec(script):
    descriptor = os.memfd_create("copy", 0)
    with open("/bin/sh", "rb") as shell:
        os.write(descriptor, shell.read())
    os.execv(f"/proc/self/fd/{descriptor}", ["sh", "-c", script])


def probe_nnp():
    kept = libc.prctl(39, 0, 0, 0, 0) != 1
    header = struct.pack("Ii", 0x20080522, 0)
    sets = ctypes.create_string_buffer(24)
    known = libc.capget(header, sets) == 0
    report(kept or not known or any(sets.raw))


globals()["probe_" + sys.argv[1]](*sys.argv[2:])
