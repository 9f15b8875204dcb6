"""Where the folder with other people's model files lies, for the tests that use it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("PIPPIN_SHARED", Path(__file__).resolve().parents[2] / "shared"))

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of real model files is not here")
