"""The Core ML file format as protobuf messages: ``schema.Model``, ``schema.NeuralNetworkLayer`` and so on.

Names and numbers are the format's. Package, file names and descriptor pool are our own, so that coremltools can live in
the same process. The classes are built from ``coreml.binpb`` (``tools/build_schema.py`` compiles it from the ``.proto``
files beside it; a test fails when they drift apart), which costs no generated code and no tie to a protobuf release.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = "pippin.coreml"
VIEW = "pippinView"
"""A field of our own in messages that hold weights: indices of the byte ranges that the reader cut out."""


@cache
def pool() -> Any:
    """The private descriptor pool."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    files = descriptor_pb2.FileDescriptorSet.FromString(Path(__file__).with_name("coreml.binpb").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


@cache
def message(name: str) -> Any:
    """The class of the message ``name``, given as in the format: ``"ConvolutionLayerParams"``."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


@cache
def layer_kinds() -> dict[str, str]:
    """Every layer kind, in the order of the format, with the name of its parameter message."""
    fields = message("NeuralNetworkLayer").DESCRIPTOR.oneofs_by_name["layer"].fields
    return {field.name: field.message_type.name for field in fields}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return message(name)
    except KeyError:
        raise AttributeError(f"the format has no message {name!r}") from None
