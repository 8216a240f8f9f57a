"""A network namespace in which only loopback is up: a host under test reaches the fake model and nothing else."""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

COMMAND = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]


def unavailable():
    """Why no namespace can be made here, or None."""
    if not shutil.which("unshare"):
        return "no unshare command on this machine (package util-linux)"
    done = subprocess.run([*COMMAND, "true"], capture_output=True, text=True)
    return None if done.returncode == 0 else f"no network namespace on this machine: {done.stderr.strip()}"


def enter():
    """Starts this script again inside a namespace, once, and brings loopback up (without iproute2)."""
    if os.environ.get("BIR_TEST_LOOPBACK") != "1":
        os.environ["BIR_TEST_LOOPBACK"] = "1"
        os.execvp(COMMAND[0], [*COMMAND, sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        get_flags, set_flags, up = 0x8913, 0x8914, 1
        flags = struct.unpack("16sh14x", fcntl.ioctl(s, get_flags, struct.pack("16sh14x", b"lo", 0)))[1]
        fcntl.ioctl(s, set_flags, struct.pack("16sh14x", b"lo", flags | up))
