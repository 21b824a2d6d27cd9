"""Runs a program on a machine whose only name server writes down what it is asked for, and knows
nothing. Arguments: a directory for its files, the program and its arguments."""

import fcntl
import socket
import struct
import subprocess
import sys
import threading

DIRECTORY = sys.argv[1]
SET_FLAGS = 0x8914
UP = 1


def switch_on_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        fcntl.ioctl(line, SET_FLAGS, struct.pack("16sh14x", b"lo", UP))


def name_in(query):
    labels, rest = [], query[12:]
    while rest and rest[0]:
        labels.append(rest[1 : 1 + rest[0]].decode())
        rest = rest[1 + rest[0] :]
    return ".".join(labels)


def serve(line):
    while True:
        query, sender = line.recvfrom(4096)
        with open(f"{DIRECTORY}/asked", "a") as file:
            file.write(name_in(query) + "\n")
        no_such_name = query[:2] + b"\x81\x83" + query[4:6] + bytes(6) + query[12:]
        line.sendto(no_such_name, sender)


switch_on_loopback()
with open(f"{DIRECTORY}/resolv.conf", "w") as file:
    file.write("nameserver 127.0.0.1\n")
open(f"{DIRECTORY}/asked", "w").close()
subprocess.run(["mount", "--bind", f"{DIRECTORY}/resolv.conf", "/etc/resolv.conf"], check=True)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
threading.Thread(target=serve, args=(server,), daemon=True).start()
sys.exit(subprocess.run(sys.argv[2:]).returncode)
