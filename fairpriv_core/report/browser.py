"""One headless browser for all images of this process: started once, used from any thread, closed at exit."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import TimeoutError as Overdue
from typing import Any

from fairpriv_core.errors import BadInput

START_SECONDS = 30.0
PAINT_SECONDS = 30.0


class Painter:
    """Kaleido on an event loop in a thread of its own; a browser that dies or hangs is replaced once.

    `kaleido` is the class `kaleido.Kaleido`, or one that takes the same arguments and has its coroutines.
    """

    def __init__(self, kaleido: Callable[..., Any]) -> None:
        self._make = kaleido
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kaleido: Any = None

    def start(self, browser: str) -> None:
        """Start `browser` (a path) unless it runs; BadInput if it does not come up."""
        with self._lock:
            try:
                self._open(browser)
            except Exception as error:
                self._close()
                raise BadInput(f"the browser {browser} did not start: {_name(error)}.") from error

    def paint(self, figure: Mapping[str, Any], options: Mapping[str, Any], *, browser: str) -> bytes:
        """Return `figure` (Plotly JSON) as an image with Kaleido's `options`; BadInput if the browser cannot."""
        with self._lock:
            try:
                return self._paint(figure, options, browser)
            except Exception:
                self._close()
            try:
                return self._paint(figure, options, browser)
            except Exception as error:
                self._close()
                raise BadInput(f"the browser {browser} did not draw the image: {_name(error)}.") from error

    def close(self) -> None:
        """Close the browser, if one runs."""
        with self._lock:
            self._close()

    def _paint(self, figure: Mapping[str, Any], options: Mapping[str, Any], browser: str) -> bytes:
        self._open(browser)
        return bytes(self._wait(self._kaleido.calc_fig(figure, opts=dict(options)), PAINT_SECONDS))

    def _open(self, browser: str) -> None:
        if self._kaleido is not None:
            return
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="figure-export", daemon=True).start()
            atexit.register(self.close)
        self._kaleido = self._wait(self._launch(browser), START_SECONDS)

    async def _launch(self, browser: str) -> Any:
        opened = self._make(n=1, timeout=PAINT_SECONDS, mathjax=False, path=browser)
        await opened.open()
        return opened

    def _close(self) -> None:
        opened, self._kaleido = self._kaleido, None
        if opened is not None:
            try:
                self._wait(opened.close(), 5.0)
            except Exception:
                return  # a dead browser cannot be closed

    def _wait(self, work: Coroutine[Any, Any, Any], seconds: float) -> Any:
        assert self._loop is not None
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except Overdue:
            future.cancel()
            raise


def _name(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()
