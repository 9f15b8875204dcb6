"""Compiles ``src/pippin/coreml/schema/*.proto`` to ``coreml.binpb``. Run it after a change of a ``.proto`` file.

python tools/build_schema.py           needs grpcio-tools
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "src/pippin/coreml/schema"


def build(target: Path) -> None:
    """Writes the descriptor set of all ``.proto`` files to ``target``."""
    from grpc_tools import protoc

    names = sorted(path.name for path in FOLDER.glob("*.proto"))
    code = protoc.main(["protoc", f"-I{FOLDER}", "--include_imports", f"--descriptor_set_out={target}", *names])
    if code:
        sys.exit(int(code))


if __name__ == "__main__":
    build(FOLDER / "coreml.binpb")
