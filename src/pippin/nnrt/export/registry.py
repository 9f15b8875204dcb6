"""Where the rules are found: one for each ONNX operator that NNRt has words for."""

from __future__ import annotations

from ...graph.registry import Registry

RULES: Registry[str] = Registry("pippin.nnrt.export.rules")

rule = RULES.register
"""Registers what ONNX operators become::

    @rule("Softmax")
    def softmax(c, n): ...

``c`` is the :class:`~pippin.nnrt.export.converter.Converter`, ``n`` the hub's node.  The rule hands every output of n
over by ``c.put``; UnsupportedError or CheckError where the operator cannot be expressed, with the reason.
"""
