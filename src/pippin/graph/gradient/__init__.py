"""Reverse mode: derivatives of a hub graph, emitted into the same graph as ONNX operators.

``vjp(g, outputs, dys, wrt)`` walks the nodes backwards and calls the rule of each operator. Rules stand in family files
and are found by their decorators (see ``engine``); an operator without one is an ``UnsupportedError`` that names the
layer. Everything is emitted by the builder, so forward, backward and update can run as one session.
"""

from .engine import prune, vjp

__all__ = ["prune", "vjp"]
