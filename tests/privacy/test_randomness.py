"""Secret streams: real AES, a key that no one sees, and no two owners of one stream."""

import copy
import os
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from randomgen import AESCounter

from fairpriv_core.errors import BadInput, FairprivError, RunFailed
from fairpriv_core.privacy import randomness as module
from fairpriv_core.privacy.randomness import Randomness


def first_bits(randomness: Randomness, purpose: str = "test", *index: int) -> bytes:
    return randomness.stream(purpose, *index).bytes(32)


def run_in_child(work: Callable[[], bytes]) -> bytes:
    """Return what `work` gives in a forked child, or the name of the error that it raises there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = work()
        except Exception as error:
            answer = type(error).__name__.encode()
        os.write(writer, answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def test_the_generator_is_aes() -> None:
    """The example of FIPS 197, appendix C.1."""
    key, block = (
        bytes.fromhex(text) for text in ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff")
    )
    generator = AESCounter(key=int.from_bytes(key, "little"), counter=int.from_bytes(block, "little"))
    cipher = generator.random_raw(2).astype("<u8").tobytes()
    assert cipher.hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


def test_a_stream_is_an_aes_generator_in_float64() -> None:
    stream = Randomness.fresh().stream("test")
    assert isinstance(stream.bit_generator, AESCounter)
    assert stream.standard_normal(3).dtype == np.float64


def test_the_same_name_gives_the_same_stream_and_unlike_names_do_not() -> None:
    randomness = Randomness.fresh()
    names = [("a",), ("b",), ("a", 0), ("a", 1), ("a", 0, 1), ("a", 1, 0), ("a", 10), ("a", -1), ("a, 0",), ("",)]
    drawn = [first_bits(randomness, *name) for name in names]  # type: ignore[arg-type]
    assert drawn == [first_bits(randomness, *name) for name in names]  # type: ignore[arg-type]
    assert len(set(drawn)) == len(names)
    assert first_bits(randomness, "a", np.int64(1)) == first_bits(randomness, "a", 1)  # type: ignore[arg-type]


def test_a_stream_is_keyed_by_the_whole_master_key() -> None:
    masters = [bytes(16), *(bytes(16 - 1 - i) + b"\x01" + bytes(i) for i in range(16))]
    assert len({first_bits(Randomness(master, secret=True)) for master in masters}) == 17


def test_the_generators_key_is_128_bits_wide() -> None:
    randomness = Randomness.replay(4)
    keys = np.array(
        [randomness.stream("t", i).bit_generator.state["s"]["seed"][:2] for i in range(64)], dtype=np.uint64
    )
    assert (np.bitwise_or.reduce(keys) == 2**64 - 1).all()
    assert (np.bitwise_and.reduce(keys) == 0).all()


def test_fresh_asks_the_operating_system_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def give(size: int) -> bytes:
        asked.append(size)
        return bytes([len(asked)]) * size

    monkeypatch.setattr(module.secrets, "token_bytes", give)
    first, second = Randomness.fresh(), Randomness.fresh()
    assert asked == [16, 16]
    assert first_bits(first) != first_bits(second)
    assert first.secret


def test_replay_repeats_and_is_not_secret() -> None:
    assert first_bits(Randomness.replay(7)) == first_bits(Randomness.replay(7))
    assert first_bits(Randomness.replay(7)) != first_bits(Randomness.replay(8))
    assert not Randomness.replay(7).secret
    for bad in (-1, 1.5, True):
        with pytest.raises(BadInput, match="replay_noise"):
            Randomness.replay(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("original", [Randomness.fresh(), Randomness.replay(3)])
def test_a_state_gives_the_same_streams_again(original: Randomness) -> None:
    again = Randomness.from_state(original.state())
    assert first_bits(again, "x", 4) == first_bits(original, "x", 4)
    assert again.secret == original.secret


def test_a_damaged_state_is_refused() -> None:
    for state in [b"", b"S" + bytes(15), b"S" + bytes(17), b"X" + bytes(16)]:
        with pytest.raises(RunFailed, match="cannot be read"):
            Randomness.from_state(state)


def test_a_forked_child_may_not_use_its_parents_randomness() -> None:
    parent = Randomness.fresh()
    assert run_in_child(lambda: first_bits(parent)) == b"FairprivError"
    assert run_in_child(parent.state) == b"FairprivError"
    assert first_bits(parent)


def test_forked_children_have_unlike_streams() -> None:
    drawn = {run_in_child(lambda: first_bits(Randomness.fresh())) for _ in range(3)}
    assert len(drawn | {first_bits(Randomness.fresh())}) == 4
    assert all(len(bits) == 32 for bits in drawn)


def test_a_child_may_go_on_from_a_state() -> None:
    parent = Randomness.fresh()
    state = parent.state()
    assert run_in_child(lambda: first_bits(Randomness.from_state(state))) == first_bits(parent)


def test_the_key_is_not_shown_copied_or_pickled() -> None:
    randomness = Randomness(bytes(range(65, 81)), secret=True)
    for text in (repr(randomness), str(randomness), f"{randomness}"):
        assert text == "Randomness(secret)"
    assert not hasattr(randomness, "__dict__")
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied"):
            leak(randomness)


def test_a_name_has_one_owner() -> None:
    randomness = Randomness.fresh()
    randomness.claim("model 0")
    randomness.claim("model 1")
    with pytest.raises(FairprivError, match="model 0 is already in use"):
        randomness.claim("model 0")
