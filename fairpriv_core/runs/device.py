"""Whether runs of this machine can multiply where its environment says, before one is launched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fairpriv_core
from fairpriv_core.engine.training import CPU, DEVICE, find_device
from fairpriv_core.errors import BadInput

# In a process of its own: a GPU that this one has opened is of no use to the processes that it starts.
_TRY = """
import sys
sys.path.append(sys.argv[1])
from fairpriv_core.engine.torch.device import open_device
from fairpriv_core.errors import BadInput
try:
    open_device(sys.argv[2])
except BadInput as error:
    sys.exit(" ".join(str(error).split()))
"""


def check_device() -> None:
    """Try the device that the environment names; BadInput where it cannot be used."""
    name = find_device()
    if name == CPU:
        return
    command = [sys.executable, "-P", "-c", _TRY, str(Path(fairpriv_core.__file__).parents[1]), name]
    tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if tried.returncode:
        raise BadInput(f"{DEVICE}: {tried.stderr.strip().splitlines()[-1]}", field="device")
