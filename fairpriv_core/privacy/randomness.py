"""Secret random streams: DP noise, secret samples and randomised response. Public randomness is in `seeds.py`.

A run has one master key of 128 bits. Each stream is AES-128 in counter mode under a key derived from the master key
and the stream's name by keyed BLAKE2b, so streams of unlike names are independent as far as anyone without the
master key can tell, and the master key is all that a checkpoint has to carry.

Who knows the master key can subtract the noise: it is never printed, logged, pickled or exported.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import secrets
from collections.abc import Callable
from typing import NoReturn

import numpy as np
from randomgen import AESCounter

from fairpriv_core.checks import whole
from fairpriv_core.errors import FairprivError, RunFailed

_KEY_BYTES = 16
_KINDS = {True: b"S", False: b"R"}  # secret, replay: the first byte of a state


class Randomness:
    """The secret streams of one run in one process.

    Make one by `fresh`, `replay` or `from_state`. An object inherited through a fork refuses to serve the child:
    parent and child would draw the same noise, and two releases with the same noise reveal their difference.
    """

    __slots__ = ("_claimed", "_master", "_process", "_shared", "secret")

    def __init__(self, master: bytes, *, secret: bool) -> None:
        self._master = master
        self._process = os.getpid()
        self._claimed: set[str] = set()
        self._shared: dict[int, tuple[tuple[int, ...], list[np.ndarray]]] = {}
        self.secret = secret

    @staticmethod
    def fresh() -> Randomness:
        """Return streams under a new master key, drawn from the operating system at this call."""
        return Randomness(secrets.token_bytes(_KEY_BYTES), secret=True)

    @staticmethod
    def replay(seed: int) -> Randomness:
        """Return streams that anyone who knows `seed` (whole, >= 0) can repeat: no privacy, `secret` is False."""
        whole(replay_noise=seed)
        master = hashlib.blake2b(str(seed).encode(), digest_size=_KEY_BYTES, person=b"fairpriv replay").digest()
        return Randomness(master, secret=False)

    @staticmethod
    def from_state(state: bytes) -> Randomness:
        """Return the streams whose `state` a checkpoint holds; RunFailed if the bytes are not such a state.

        Only for going on with the same run on the same data, configuration and code: anything else needs `fresh`.
        """
        kinds = [secret for secret, mark in _KINDS.items() if state[:1] == mark]
        if len(state) != 1 + _KEY_BYTES or not kinds:
            raise RunFailed(f"the checkpoint's random state cannot be read: {len(state)} bytes, want {1 + _KEY_BYTES}.")
        return Randomness(state[1:], secret=kinds[0])

    def state(self) -> bytes:
        """Return 17 SECRET bytes from which `from_state` makes the same streams; they belong in a checkpoint alone."""
        self.require_own_process()
        return _KINDS[self.secret] + self._master

    def stream(self, purpose: str, *index: int) -> np.random.Generator:
        """Return the generator of the stream (purpose, index) at its beginning; the same name gives the same bits."""
        self.require_own_process()
        name = json.dumps([purpose, *map(operator.index, index)]).encode()
        key = hashlib.blake2b(name, digest_size=_KEY_BYTES, key=self._master, person=b"fairpriv stream").digest()
        return np.random.Generator(AESCounter(key=int.from_bytes(key, "little")))

    def name_stream(self, stream: int) -> str:
        """Return 16 hex digits that name the secret samples `stream` of these streams and tell nothing about them."""
        name = json.dumps(["name", operator.index(stream)]).encode()
        return hashlib.blake2b(name, digest_size=8, key=self._master, person=b"fairpriv stream").hexdigest()

    def share(
        self, stream: int, index: tuple[int, ...], draw: Callable[[np.random.Generator], list[np.ndarray]]
    ) -> list[np.ndarray]:
        """Return what `draw` makes of the shared stream (stream, index): the same list for whoever asks next."""
        held, drawn = self._shared.get(stream, ((), []))
        if held != index:
            drawn = draw(self.stream("shared sample", stream, *index))
            self._shared[stream] = (index, drawn)
        return drawn

    def claim(self, name: str) -> None:
        """Reserve the streams of `name` for one owner; FairprivError when they have one, who would share its noise."""
        if name in self._claimed:
            raise FairprivError(f"the noise of {name} is already in use; a second use would reveal what it hides.")
        self._claimed.add(name)

    def require_own_process(self) -> None:
        """Raise FairprivError in a process other than the one that made this object (after a fork)."""
        if os.getpid() != self._process:
            raise FairprivError("secret randomness was inherited from a parent process; make a fresh one in the child.")

    def __repr__(self) -> str:
        return f"Randomness({'secret' if self.secret else 'replay'})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("secret randomness cannot be copied or pickled; a checkpoint holds its state().")
