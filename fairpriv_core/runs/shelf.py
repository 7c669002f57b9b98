"""The data of several runs, read once each: runs on one split are given the same object."""

from __future__ import annotations

from collections.abc import Callable

from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import FairprivError
from fairpriv_core.runs.config import RunConfig
from fairpriv_core.runs.source import find_seed
from fairpriv_core.runs.suited import check_suited

Check = Callable[[str | None, str | None], None]


class Shelf:
    """Data sets and their splits as they were read, kept as long as it is; `splits`: no more than the last few.

    With `check`, of a person's file and its id, a file that is not what a config says is refused.
    """

    def __init__(self, *, check: Check = lambda file, file_id: None, splits: int | None = None) -> None:
        self._most, self._check = splits, check
        self._read: dict[tuple[DataSpec, str | None], Dataset | FairprivError] = {}
        self._parts: dict[tuple[DataSpec, str | None, str, int | None], tuple[Dataset, Dataset]] = {}

    def parts(self, config: RunConfig) -> tuple[Dataset, Dataset]:
        """Return (train, test) of a config. BadInput, for data that its method cannot train on too; DataUnavailable."""
        source = (config.data, config.file_id)
        whole = self._load(*source)
        check_suited(config, whole)
        drawn = not whole.one_split or config.data.group_ratio is not None
        name = (*source, config.split, find_seed(config.to_json()) if drawn else None)
        if name not in self._parts:
            while self._most is not None and len(self._parts) >= self._most:
                del self._parts[next(iter(self._parts))]
            self._parts[name] = split_dataset(whole, seed=config.seed, split=config.split)
        return self._parts[name]

    def _load(self, data: DataSpec, file_id: str | None) -> Dataset:
        if (data, file_id) not in self._read:
            self._read[data, file_id] = self._try(data, file_id)
        found = self._read[data, file_id]
        if isinstance(found, FairprivError):
            raise found
        return found

    def _try(self, data: DataSpec, file_id: str | None) -> Dataset | FairprivError:
        try:
            self._check(data.file, file_id)
            return load_dataset(data)
        except FairprivError as error:  # tried once for all
            return error
