"""Walls of the kernel around this process: no network, few files, few calls, no new powers. Once up, they stay up.

Four walls, each of which holds when the others are missing:

- a network namespace of its own, in which there is no network at all (needs root, or a user namespace);
- Landlock: files and folders that are listed and no others, no TCP, no abstract sockets, no signals to strangers;
- a seccomp filter: sockets of the unix kind only, and none of the calls that programs of this kind never make, with
  `io_uring` among them because what is asked through it passes no filter;
- no capabilities, no new privileges, no core dumps and no debugger.

They are per thread and inherited, so they must stand before the second thread starts. See landlock(7), seccomp(2),
user_namespaces(7). Nothing can be connected to from inside, unix sockets among it: see porter.py.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWUSER, _CLONE_NEWNET = 0x1000_0000, 0x4000_0000
_PR_SET_PDEATHSIG, _PR_GET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 2, 4, 24, 38
_CAPABILITIES = 41
_KEPT_OF_ROOT = (1, 3)  # DAC_OVERRIDE and FOWNER: root's house has folders of several people


@dataclass(frozen=True, slots=True)
class WallPlan:
    """What the process needs to live; everything else is walled off. Paths that are not there are left out."""

    reads: tuple[Path, ...]
    writes: tuple[Path, ...]  # folders in which it may do everything but make devices; or single files
    runs: tuple[Path, ...] = ()  # programs it may start; () is none
    clears: tuple[Path, ...] = ()  # folders from which it may remove its socket


@dataclass(frozen=True, slots=True)
class Walls:
    """What stands, in words for /health, the log and the doctor."""

    network: str  # "namespace", "filter" (no sockets can be made), "landlock" (no TCP), or "none"
    files: str  # "landlock v7", or "none"
    calls: str  # "filter", or "none"

    @property
    def missing(self) -> list[str]:
        """Return what does not stand, as sentences."""
        values = {
            "network": "The tools can reach the network: neither namespaces nor filters are allowed here.",
            "files": "The tools are kept in their folders by their own code only: this kernel has no Landlock.",
            "calls": "The tools may make every call of the kernel: filters are not allowed here.",
        }
        return [sentence for wall, sentence in values.items() if getattr(self, wall) == "none"]


NO_WALLS = Walls("none", "none", "none")
_standing = NO_WALLS


def standing() -> dict[str, str]:
    """Return which walls stand around this process."""
    return asdict(_standing)


def confine(plan: WallPlan) -> Walls:
    """Put up every wall that this system allows, around this process and all it will start.

    Must run in a process of one thread. What is not allowed is left out; the answer says what stands.
    """
    global _standing
    tasks = len(list(Path("/proc/self/task").iterdir())) if Path("/proc/self/task").is_dir() else 1
    assert tasks == 1, "walls are per thread, so they come before the second one"
    tether = ctypes.c_int()
    _libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(tether), 0, 0, 0)
    namespace = _own_network()
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    files, tcp = _landlock(plan)
    _drop_capabilities()
    filtered = _filter_calls(plan)
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    _libc.prctl(_PR_SET_PDEATHSIG, tether.value, 0, 0, 0)  # changing credentials may have untied it
    network = "namespace" if namespace else "filter" if filtered else "landlock" if tcp else "none"
    _standing = Walls(network, files, "filter" if filtered else "none")
    return _standing


def keep_to(plan: WallPlan) -> None:
    """Keep the calling thread, and all that it starts, to the files of a plan, where this kernel has Landlock.

    On top of the walls that stand. It cannot be taken back: use a thread that ends.
    """
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _landlock(plan)


# ── network ────────────────────────────────────────────────────────────────────────────────────────


def _own_network() -> bool:
    """Move into a namespace without network. A child tries first: half a user namespace would be worse than none."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if _enter_network() else 1)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return status == 0 and _enter_network()


def _enter_network() -> bool:
    if _libc.unshare(_CLONE_NEWNET) == 0:  # root, with its powers
        return True
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        return False
    return True


# ── powers ─────────────────────────────────────────────────────────────────────────────────────────


def _drop_capabilities() -> None:
    count = sum(1 << number for number in _KEPT_OF_ROOT) if os.geteuid() == 0 else 0
    for number in range(_CAPABILITIES):
        if not count >> number & 1:
            _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    held = _held() & count
    header = struct.pack("Ii", 0x2008_0522, 0)
    _libc.capset(header, struct.pack("6I", held, held, 0, 0, 0, 0))


def _held() -> int:
    header, values = ctypes.create_string_buffer(struct.pack("Ii", 0x2008_0522, 0)), ctypes.create_string_buffer(24)
    if _libc.capget(header, values) != 0:
        return 0
    return int(struct.unpack("6I", values.raw)[1])


# ── files ──────────────────────────────────────────────────────────────────────────────────────────

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_FILE = 1 << 5
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE, _IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_ALL_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # by the ABI that knows them
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV  # the rest are rights over folders
_ALL_TCP, _ALL_SCOPES = 0b11, 0b11


def landlock_abi() -> int:
    """Return the version of Landlock in this kernel; 0 is none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def _landlock(plan: WallPlan) -> tuple[str, bool]:
    """Return which Landlock stands, and whether it keeps TCP out."""
    abi = landlock_abi()
    if not abi:
        return "none", False
    handled = _ALL_FILES[max(version for version in _ALL_FILES if version <= abi)]
    attributes = struct.pack("QQQ", handled, _ALL_TCP if abi >= 4 else 0, _ALL_SCOPES if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = _libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0)
    if rules < 0:
        return "none", False
    try:
        reads = _READ_FILE | _READ_DIR
        whole = handled & ~(_EXECUTE | _MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV)
        rights_over = {
            reads: plan.reads,
            whole: plan.writes,
            reads | _EXECUTE: plan.runs,
            _REMOVE_FILE: plan.clears,
        }
        for rights, paths in rights_over.items():
            for path in paths:
                _allow(rules, path, rights & handled)
        if _libc.syscall(_RESTRICT_SELF, rules, 0) != 0:
            return "none", False
    finally:
        os.close(rules)
    return f"landlock v{abi}", abi >= 4


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            rights &= _OF_A_FILE
        rule = struct.pack("=Qi", rights, opened)
        _libc.syscall(_ADD_RULE, rules, 1, rule, 0)
    finally:
        os.close(opened)


# ── calls ──────────────────────────────────────────────────────────────────────────────────────────

# Numbers of the kernel's calls, for the two machines that houses have: (x86-64, aarch64).
_FORBIDDEN = {
    "connect": (42, 203),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "io_uring_setup": (425, 425),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "memfd_create": (319, 279),  # a program made in memory lies in no folder
}
_STARTING = ((59, 221), (322, 281))  # execve, execveat
_SOCKET = (41, 198)
_MACHINES = {"x86_64": (0, 0xC000_003E), "aarch64": (1, 0xC000_00B7)}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER = 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF_0000, 0x0005_0000 | 1  # EPERM
_X32 = 0x4000_0000  # the other numbering of calls on x86-64
_AF_UNIX = 1


def _filter_calls(plan: WallPlan) -> bool:
    machine = platform.machine()
    if machine not in _MACHINES or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    column, _ = _MACHINES[machine]
    refused = [numbers[column] for numbers in _FORBIDDEN.values()]
    if not plan.runs:
        refused += [numbers[column] for numbers in _STARTING]
    program = _program(machine, refused)
    text = ctypes.create_string_buffer(program)
    filter_ = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(text))
    return int(_libc.syscall(_SECCOMP[machine], _SET_MODE_FILTER, 0, filter_)) == 0


def _program(machine: str, refused: Iterable[int]) -> bytes:
    """Return the filter, in the kernel's packet language: (code, jump if true, jump if false, value)."""
    column, architecture = _MACHINES[machine]
    steps = [
        (_LOAD, 0, 0, 4),  # which machine's numbers these are
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, 0),  # which call
    ]
    if machine == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _REFUSE)]
    for number in refused:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    steps += [
        (_EQUAL, 0, 3, _SOCKET[column]),
        (_LOAD, 0, 0, 16),  # its first argument: the family
        (_EQUAL, 1, 0, _AF_UNIX),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def no_core_dumps() -> None:
    """Let a crash leave no copy of the memory, in which passwords were."""
    import resource

    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
