"""The host beside the sandbox: sockets, ports, a secret in its environment, shared memory, a key."""

import ctypes
import os
import platform
import socket
import sys
import threading

run, work, name, agent = sys.argv[1:5]
libc = ctypes.CDLL(None)


def serve(listener):
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=greet, args=(peer,), daemon=True).start()


def greet(peer):
    try:
        peer.sendall(b"HTTP/1.0 200 OK\r\n\r\nhello")
        peer.shutdown(socket.SHUT_WR)
        peer.settimeout(5)
        while peer.recv(1000):
            pass
    except OSError:
        pass
    peer.close()


def echo(listener):
    while True:
        data, peer = listener.recvfrom(100)
        listener.sendto(data, peer)


def start(action, listener):
    threading.Thread(target=action, args=(listener,), daemon=True).start()


os.makedirs(work + "/a/b/c/d/e/f/g", exist_ok=True)
os.chdir(work + "/a/b/c/d/e/f/g")
deep = work + "/a/b/c/d/deep.sock"
sockets = (run + "/docker.sock", work + "/dev.sock", deep, "relative.sock", agent, "\0" + name)
for address in sockets:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    start(serve, listener)
datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
datagram.bind(run + "/dgram.sock")
tcp = socket.socket()
tcp.setsockopt(socket.IPPROTO_TCP, 23, 5)
tcp.bind(("127.0.0.1", 0))
tcp.listen()
start(serve, tcp)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
start(echo, udp)
shm = libc.shmget(os.getpid(), 4096, 0o1600)
add_key = 248 if platform.machine() == "x86_64" else 217
# One name for all hosts and never taken away: a host that is killed would leave a key of its own,
# and the kernel lets a user have 200.
libc.syscall(add_key, b"user", b"brynhild-probes", b"secret", 6, ctypes.c_long(-4))
print(os.getpid(), tcp.getsockname()[1], udp.getsockname()[1], os.getpid(), flush=True)
sys.stdin.read()
libc.shmctl(shm, 0, None)
os.unlink(agent)
