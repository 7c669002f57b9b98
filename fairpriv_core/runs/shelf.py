"""The data of several runs, read once each: runs on one split are given the same object."""

from __future__ import annotations

from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import FairprivError
from fairpriv_core.runs.config import RunConfig
from fairpriv_core.runs.source import check_file, find_seed
from fairpriv_core.runs.suited import check_suited


class Shelf:
    """Data sets and their splits as they were read, kept as long as it is; `splits`: no more than the last few."""

    def __init__(self, *, splits: int | None = None) -> None:
        self._most = splits
        self._read: dict[tuple[DataSpec, str | None], Dataset | FairprivError] = {}
        self._parts: dict[tuple[DataSpec, str | None, str, int | None], tuple[Dataset, Dataset]] = {}

    def parts(self, config: RunConfig) -> tuple[Dataset, Dataset]:
        """Return (train, test) of a config. BadInput, for data that its method cannot train on too; DataUnavailable."""
        source = (config.data, config.file_sha256)
        whole = self._load(*source)
        check_suited(config, whole)
        drawn = not whole.one_split or config.data.group_ratio is not None
        name = (*source, config.split, find_seed(config.to_json()) if drawn else None)
        if name not in self._parts:
            while self._most is not None and len(self._parts) >= self._most:
                del self._parts[next(iter(self._parts))]
            self._parts[name] = split_dataset(whole, seed=config.seed, split=config.split)
        return self._parts[name]

    def _load(self, data: DataSpec, sha256: str | None) -> Dataset:
        if (data, sha256) not in self._read:
            self._read[data, sha256] = _read(data, sha256)
        found = self._read[data, sha256]
        if isinstance(found, FairprivError):
            raise found
        return found


def _read(data: DataSpec, sha256: str | None) -> Dataset | FairprivError:
    try:
        check_file(data.file, sha256)
        return load_dataset(data)
    except FairprivError as error:  # tried once for all
        return error
