"""A disk that fails under SQLite when a test wants it to: the file system's own functions, with faults between.

SQLite reaches its files through a table of C functions, its VFS. While a `FaultyDisk` is in use, every connection of
this process opens its files through a copy of that table whose reads, writes and syncs may fail. What SQLite makes of
a failed call is its own code, as with a real disk.
"""

from __future__ import annotations

import _sqlite3
import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_FULL, _READ, _WRITE, _SYNC = 13, 266, 778, 1034  # SQLITE_FULL, and SQLITE_IOERR with READ, WRITE and FSYNC
_CALLS = 18  # functions of a file, of version 3
_PLACES = {"read": 1, "write": 2, "sync": 4}
_OPEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_MOVE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
_FLUSH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)


class _Methods(ctypes.Structure):
    """The functions of an open file (sqlite3_io_methods)."""

    _fields_ = (("version", ctypes.c_int), ("calls", ctypes.c_void_p * _CALLS))


class _Vfs(ctypes.Structure):
    """How files are opened (sqlite3_vfs)."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("open", ctypes.c_void_p),
        ("rest", ctypes.c_void_p * 15),
    )


@dataclass(frozen=True)
class Fault:
    """What a call of one kind ("read", "write" or "sync") comes to; `share` of a write is written before it fails."""

    call: str
    code: int
    share: float = 0.0


FAULTS = {
    "EIO on reading": Fault("read", _READ),
    "EIO": Fault("write", _WRITE),
    "ENOSPC": Fault("write", _FULL),
    "a short write": Fault("write", _FULL, 0.5),
    "a failed fsync": Fault("sync", _SYNC),
}


class FaultyDisk:
    """Counts calls while a fault is set, and lets them fail from the one on that it is set for."""

    def __init__(self) -> None:
        self._sqlite = ctypes.CDLL(_sqlite3.__file__)  # finds the library that it is linked with, too
        self._sqlite.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        self._real = self._sqlite.sqlite3_vfs_find(None)
        self._copy = _Vfs.from_buffer_copy(self._real.contents)
        self._copy.name = b"faulty"
        self._kept: list[Any] = [opened := _OPEN(self._open)]
        self._copy.open = ctypes.cast(opened, ctypes.c_void_p).value
        self._methods: dict[int, _Methods] = {}
        self._fault: Fault | None = None
        self._first = self._last = self.calls = 0

    @property
    def fired(self) -> int:
        """How many calls failed since the fault was set."""
        return max(min(self.calls, self._last) - self._first, 0)

    @contextmanager
    def use(self) -> Iterator[FaultyDisk]:
        """Let every connection that is opened meanwhile be on this disk; all must be closed before it ends."""
        self._sqlite.sqlite3_vfs_register(ctypes.byref(self._copy), 1)
        try:
            yield self
        finally:
            self._sqlite.sqlite3_vfs_register(self._real, 1)
            self._sqlite.sqlite3_vfs_unregister(ctypes.byref(self._copy))

    @contextmanager
    def fail(self, fault: Fault, *, after: int, times: int) -> Iterator[None]:
        """Let `times` calls of the fault's kind fail, once `after` of them went well."""
        self._fault, self._first, self._last, self.calls = fault, after, after + times, 0
        try:
            yield
        finally:
            self._fault = None

    def _strike(self, call: str) -> Fault | None:
        fault = self._fault
        if fault is None or fault.call != call:
            return None
        self.calls += 1
        return fault if self._first < self.calls <= self._last else None

    def _open(self, _vfs: int, name: int, file: int, flags: int, told: int) -> int:
        code = _OPEN(self._real.contents.open)(ctypes.addressof(self._real.contents), name, file, flags, told)
        methods = ctypes.c_void_p.from_address(file)
        if methods.value:
            methods.value = ctypes.addressof(self._replace(methods.value))
        return code

    def _replace(self, address: int) -> _Methods:
        """Return the functions at `address` with ours in place of three of them."""
        if address not in self._methods:
            real = _Methods.from_address(address)
            ours = _Methods.from_buffer_copy(real)
            for call, kind in (("read", _MOVE), ("write", _MOVE), ("sync", _FLUSH)):
                function = kind(self._build(call, kind(real.calls[_PLACES[call]])))
                self._kept.append(function)
                ours.calls[_PLACES[call]] = ctypes.cast(function, ctypes.c_void_p).value
            self._methods[address] = ours
        return self._methods[address]

    def _build(self, call: str, real: Callable[..., int]) -> Callable[..., int]:
        def answer(file: int, *given: int) -> int:
            fault = self._strike(call)
            if fault is None:
                return real(file, *given)
            if fault.share:
                content, size, at = given
                real(file, content, int(fault.share * size), at)
            return fault.code

        return answer
