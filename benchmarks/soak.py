"""The pages with many people before them: their memory while 20 viewers of one run hear all and draw nothing.

Starts what `./fairpriv app` starts and a long run. Each viewer holds the connection that a browser's tab holds and asks
again as often as the page tells it to, so that the pages do all that they do for a person. Twenty browsers that draw
would take a small machine for themselves.

    python benchmarks/soak.py --json docs/performance/soak.json
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.measuring import build_parser, say, start, write_result
from benchmarks.page_memory import read_memory, serve
from fairpriv_core.records.config import build_config
from fairpriv_core.store.runs import open_store

_LONG = {"name": "pf_ld", "epochs": 1000, "batch_size": 16, "hidden_layers": 3, "width": 64}  # half an hour and more
#: what a browser offers: the protocol, and in place of a session to go on with a word that is none
_PROTOCOLS = [websockets.Subprotocol("streamlit"), websockets.Subprotocol("PLACEHOLDER")]
_LOOK_SECONDS = 5.0
_WARM_SECONDS = 120.0  # until then the process fills its caches


class Viewer:
    """A tab that shows one page: it asks for the page once, and for its parts again as often as they say."""

    def __init__(self, socket: websockets.ClientConnection, query: str) -> None:
        self._socket, self._query = socket, query
        self.answered: list[float] = []  # when a part that was asked for again had come whole
        self.errors: list[str] = []

    async def look(self) -> None:
        """Hear all until cancelled."""
        asking: dict[str, asyncio.Task[None]] = {}
        await self._ask()
        try:
            async for data in self._socket:
                self._hear(data, asking)
        finally:
            for task in asking.values():
                task.cancel()

    def _hear(self, data: bytes | str, asking: dict[str, asyncio.Task[None]]) -> None:
        message = ForwardMsg()
        message.ParseFromString(data)
        kind = message.WhichOneof("type")
        if kind == "auto_rerun" and message.auto_rerun.fragment_id not in asking:
            name = message.auto_rerun.fragment_id
            asking[name] = asyncio.create_task(self._repeat(name, message.auto_rerun.interval))
        elif kind == "script_finished":
            self.answered.append(time.monotonic())
        elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "exception":
            self.errors.append(message.delta.new_element.exception.message)

    async def _repeat(self, fragment: str, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            await self._ask(fragment)

    async def _ask(self, fragment: str = "") -> None:
        message = BackMsg()
        message.rerun_script.query_string, message.rerun_script.page_name = self._query, "run"
        message.rerun_script.fragment_id, message.rerun_script.is_auto_rerun = fragment, bool(fragment)
        message.rerun_script.context_info.timezone = "UTC"
        await self._socket.send(message.SerializeToString())


async def watch(address: str, process: int, key: str, *, viewers: int, minutes: float) -> dict[str, Any]:
    """Return what was measured."""
    memory, seen = [read_memory(process)], []
    address = address.replace("http", "ws", 1) + "/_stcore/stream"
    for _ in range(viewers):
        socket = await websockets.connect(address, subprotocols=_PROTOCOLS, max_size=None)
        seen.append(Viewer(socket, f"run={key}"))
    looking = [asyncio.create_task(viewer.look()) for viewer in seen]
    ends = time.monotonic() + 60.0 * minutes
    while time.monotonic() < ends:
        await asyncio.sleep(_LOOK_SECONDS)
        memory.append(read_memory(process))
    for task in looking:
        task.cancel()
    await asyncio.gather(*looking, return_exceptions=True)
    errors = [error for viewer in seen for error in viewer.errors]
    if errors:
        raise SystemExit(f"{len(errors)} errors on the page, the first: {errors[0]}")
    warm = memory[min(len(memory) - 1, round(_WARM_SECONDS / _LOOK_SECONDS))]
    gaps = [[after - before for before, after in pairwise(viewer.answered[1:])] for viewer in seen]
    return {
        "viewers": viewers,
        "minutes": minutes,
        "updates": sum(len(each) for each in gaps),
        "update_median_s": round(max(median(each) if each else float("inf") for each in gaps), 2),
        "memory_start_mb": memory[0],
        "memory_warm_mb": warm,
        "memory_growth_mb": round(memory[-1] - warm, 1),
        "memory_end_mb": memory[-1],
        "memory_most_mb": max(memory),
    }


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the viewers look (default 10)")
    parser.add_argument("--viewers", type=int, default=20, help="how many look (default 20)")
    options = start(parser)
    minutes = min(options.minutes, 0.5) if options.quick else options.minutes
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as (address, process):
        with open_store(str(Path(folder) / "runs.db")) as store:
            config = build_config(
                {
                    "data": {"dataset": "adult", "sensitive": "sex"},
                    "notion": "demographic_parity",
                    "method": _LONG,
                    "epsilon": 1.0,
                    "seed": 0,
                }
            )
            key = store.submit(config).key
        found = asyncio.run(watch(address, process, key, viewers=options.viewers, minutes=minutes))
    say(json.dumps(found, indent=1))
    write_result(options, {"cells": [found]})


if __name__ == "__main__":
    main()
