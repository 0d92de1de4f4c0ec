#!/usr/bin/python3
"""Runs a command as a service of systemd would: confine.py ROOT UID GID CALL,CALL,… COMMAND…

In a root folder, as a user without groups, without capabilities, and with a filter that answers EPERM to each system call
that is not named, to memory that is written and run, and nothing else. (systemd itself needs to be the first process.)
"""

import ctypes
import os
import re
import struct
import sys

HEADER = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 24, 38, 22
SECCOMP_MODE_FILTER, AUDIT_ARCH_X86_64 = 2, 0xC000003E
LOAD, EQUAL, ALL_OF, AND, RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 1
NUMBER, ARCHITECTURE, THIRD_ARGUMENT = 0, 4, 32
WRITE, EXECUTE = 2, 4


def numbers():
    with open(HEADER, encoding="utf-8") as file:
        return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", file.read())}


def filter_of(allowed):
    """The filter as instructions: (code, if true, if false, value)."""
    known = numbers()
    program = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, AUDIT_ARCH_X86_64), (RETURN, 0, 0, REFUSE)]
    for name, bits in (("mmap", WRITE | EXECUTE), ("mprotect", EXECUTE)):
        program += [(LOAD, 0, 0, NUMBER), (EQUAL, 0, 4, known[name]), (LOAD, 0, 0, THIRD_ARGUMENT), (AND, 0, 0, bits),
                    (EQUAL, 0, 1, bits), (RETURN, 0, 0, REFUSE)]
    program.append((LOAD, 0, 0, NUMBER))
    for name in allowed:
        if name in known:
            program += [(EQUAL, 0, 1, known[name]), (RETURN, 0, 0, ALLOW)]
    return [*program, (RETURN, 0, 0, REFUSE)]


def main():
    root, user, group, allowed, *command = sys.argv[1:]
    program = filter_of(allowed.split(","))
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in program))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(instructions)))
    library = ctypes.CDLL(None, use_errno=True)

    def prctl(*values):
        if library.prctl(*(ctypes.c_ulong(each) for each in (*values, 0, 0, 0, 0)[:5])) != 0:
            raise OSError(ctypes.get_errno(), f"prctl{values}")

    os.chroot(root)
    os.chdir("/")
    os.umask(0o077)
    with open("/proc/self/status", encoding="utf-8") as file:
        bounding = int(re.search(r"CapBnd:\s*(\w+)", file.read())[1], 16)
    for capability in range(bounding.bit_length()):
        prctl(PR_CAPBSET_DROP, capability)
    os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(head))
    os.execvpe(command[0], command, os.environ)


main()
