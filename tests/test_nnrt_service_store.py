"""The service's folder of compiled models: whose it is, and whose key seals it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the NNRt service needs Linux", allow_module_level=True)

import pippin.nnrt.service.store as module
from pippin.errors import WriteError
from pippin.nnrt.service.store import Store


def test_a_folder_where_others_may_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(WriteError, match="others may write there"):
        Store(tmp_path)
    tmp_path.chmod(0o775)
    Store(tmp_path)


def test_a_folder_and_a_key_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(tmp_path)
    key = (tmp_path / "key").read_bytes()
    monkeypatch.setattr(module.os, "geteuid", lambda: 12345)
    assert module._key(tmp_path / "key") != key
    if tmp_path.stat().st_uid:
        with pytest.raises(WriteError, match="others may write there"):
            Store(tmp_path)
