"""Layers that decide which layers run: branch, loop, loopBreak and loopContinue."""

from __future__ import annotations

from typing import Any

from ...graph.ir import Value
from .. import control_flow
from ..lowering import Context, lowering, require


@lowering("branch", integers=True)
def branch(g: Context, p: Any, condition: Value) -> tuple[()]:
    """Runs ``ifBranch`` where |condition| > 1e-6, else ``elseBranch``.

    condition (1) → no output; blobs that both branches write, or that were there before, hold what the branch that ran
    left in them. Source: BranchLayerParams.
    """
    require(bool(p.ifBranch.layers), "ifBranch must hold at least one layer")
    chosen = control_flow.holds(g, condition, "the condition")
    control_flow.branch(g.network, g, chosen, p.ifBranch.layers, p.elseBranch.layers)
    return ()


@lowering("loop", integers=True)
def loop(g: Context, p: Any, count: Value | None = None) -> tuple[()]:
    """Runs ``bodyNetwork`` again and again.

    Without conditionNetwork, n times; with it, while |conditionVar| > 1e-6, which it writes before each round; with
    both at most n times. n is the input, or maxLoopIterations, which with a conditionNetwork may be 0 for any number.
    count (1) or nothing → no output; what body and condition write is visible behind the loop, zeros if never written.
    Source: LoopLayerParams.
    """
    require(bool(p.bodyNetwork.layers), "bodyNetwork must hold at least one layer")
    conditional = bool(p.conditionNetwork.layers)
    require(
        conditional == bool(p.conditionVar),
        f"conditionVar must be set if there is a conditionNetwork, and only then, got {p.conditionVar!r}",
    )
    require(
        conditional or count is not None or p.maxLoopIterations > 0,
        "maxLoopIterations must be positive where there is no conditionNetwork and no input",
    )
    control_flow.loop(g.network, g, p, _rounds(g, p, count))
    return ()


def _rounds(g: Context, p: Any, count: Value | None) -> Value | None:
    """The most rounds as an int64 scalar, None for any number."""
    import numpy as np

    if count is not None:
        shape = list(count.shape)
        require(
            all(isinstance(dim, str) or dim == 1 for dim in shape), f"the count must be a scalar, got shape {shape}"
        )
        return g.reshape(g.integer(count), [])
    most = min(int(p.maxLoopIterations), (1 << 63) - 1)
    return g.constant(np.array(most, np.int64)) if most else None


@lowering("loopBreak")
def loop_break(g: Context, p: Any, *ignored: Value) -> tuple[()]:
    """Ends the loop around it: no layer runs until the one behind the loop.

    → no output. Only inside a bodyNetwork. Source: LoopBreakLayerParams.
    """
    require(g.network.in_body, "the layer must stand in the bodyNetwork of a loop")
    g.network.left = g.network.broke = g.constant(True)
    return ()


@lowering("loopContinue")
def loop_continue(g: Context, p: Any, *ignored: Value) -> tuple[()]:
    """Ends this round of the loop around it: the next layer to run is the first of the next round.

    → no output. Only inside a bodyNetwork. Source: LoopContinueLayerParams.
    """
    require(g.network.in_body, "the layer must stand in the bodyNetwork of a loop")
    g.network.left = g.constant(True)
    return ()
