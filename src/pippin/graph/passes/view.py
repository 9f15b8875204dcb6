"""A graph as rules see it: who uses a value, and the edits that keep that up to date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..ir import Dim, Graph, Node, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Type = tuple["np.dtype[Any]", Sequence[Dim]]


class View:
    """Uses of the values of ``graph`` and its bodies; edits are seen at once, lists of nodes are renewed by ``finish``.

    New nodes stand right before the node that they were made for, so the order stays one in which nodes can run.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._uses: dict[int, dict[int, Node]] = {}
        self._held: set[int] = set()
        self._home: dict[int, Graph] = {}
        self._graphs: list[Graph] = []
        self._ahead: dict[int, list[Node]] = {}
        self._touched: list[Node] = []
        self._names: set[str] | None = None
        self._small: dict[tuple[str, tuple[int, ...], bytes], Value] = {}
        self._keep: list[Node] = []
        self._enter(graph)
        self.sweep_dead()

    def _enter(self, graph: Graph) -> None:
        self._graphs.append(graph)
        self._held.update(id(value) for value in graph.outputs)
        for node in graph.nodes:
            self._add(node, graph)

    def _add(self, node: Node, home: Graph) -> None:
        self._home[id(node)] = home
        for value in node.inputs:
            if value is not None:
                self._uses.setdefault(id(value), {})[id(node)] = node
        for body in node.subgraphs():
            self._enter(body)

    # -- looking -----------------------------------------------------------------------------------------------------

    def nodes(self) -> Iterator[Node]:
        """Every node, bodies included."""
        for graph in list(self._graphs):
            for node in graph.nodes:
                yield from self._expanded(node)

    def lives(self, key: int) -> bool:
        """Whether the node with that ``id`` is still part of the graph."""
        return key in self._home

    def users(self, value: Value) -> list[Node]:
        """The nodes that read ``value``, each once."""
        return list(self._uses.get(id(value), {}).values())

    def is_output(self, value: Value) -> bool:
        """Whether ``value`` is an output of the graph or of a body."""
        return id(value) in self._held

    def only_user(self, value: Value) -> Node | None:
        """The node that alone reads ``value``; None if it is an output or there are several."""
        uses = self._uses.get(id(value), {})
        return next(iter(uses.values())) if len(uses) == 1 and id(value) not in self._held else None

    def producer(self, value: Value | None, *ops: str) -> Node | None:
        """The node that makes ``value``, if its operator is one of ``ops`` (any where none are given)."""
        node = value.node if value is not None else None
        if node is None or node.domain or (ops and node.op not in ops) or id(node) not in self._home:
            return None
        return node

    def private(self, value: Value, user: Node) -> bool:
        """Whether nothing but ``user`` reads ``value``, in the same graph: what makes it can go."""
        node = value.node
        return self.only_user(value) is user and node is not None and self._home[id(node)] is self._home.get(id(user))

    def touched(self) -> list[Node]:
        """Nodes around the edits since the last call."""
        nodes, self._touched = self._touched, []
        return nodes

    # -- editing -----------------------------------------------------------------------------------------------------

    def constant(self, data: NDArray[Any], name: str) -> Value:
        """A constant; small ones are shared."""
        key = (data.dtype.str, data.shape, data.tobytes()) if data.size <= 16 else None
        if key is not None and key in self._small:
            return self._small[key]
        value = Value(self.unique(name), data.dtype, data.shape, data)
        if key is not None:
            self._small[key] = value
        return value

    def unique(self, name: str) -> str:
        """``name``, or ``name`` with the first free number behind it."""
        if self._names is None:
            self._names = set()
            for graph in self._graphs:
                self._names.update(value.name for value in graph.inputs)
                for node in graph.nodes:
                    self._names.add(node.name)
                    self._names.update(value.name for value in node.inputs if value is not None)
                    self._names.update(value.name for value in node.outputs)
        candidate, count = name, 0
        while candidate in self._names:
            count += 1
            candidate = f"{name}_{count}"
        self._names.add(candidate)
        return candidate

    def emit(
        self, before: Node, op: str, inputs: Sequence[Value | None], types: Sequence[Type], **attributes: Any
    ) -> Any:
        """A new node right before ``before``, of the same layer; returns its output, or a list of several."""
        stem = before.name.rpartition("/")[0]
        name = self.unique(f"{stem}/{op}" if stem else op)
        node = Node(op, list(inputs), [], attributes, name, before.where)
        for index, (dtype, shape) in enumerate(types):
            label = name if index == 0 else self.unique(f"{name}:{index}")
            node.outputs.append(Value(label, dtype, tuple(shape), None, node))
        self._ahead.setdefault(id(before), []).append(node)
        self._add(node, self._home[id(before)])
        self._touched.append(node)
        return node.outputs[0] if len(types) == 1 else node.outputs

    def become(
        self, node: Node, op: str, inputs: Sequence[Value | None], attributes: dict[str, Any], like: Node | None = None
    ) -> None:
        """Makes ``node`` another operator that gives the same outputs; ``like``: one whose name and place it takes."""
        before = [value for value in node.inputs if value is not None]
        for value in before:
            self._uses[id(value)].pop(id(node), None)
        node.op, node.inputs, node.attributes = op, list(inputs), attributes
        for operand in node.inputs:
            if operand is not None:
                self._uses.setdefault(id(operand), {})[id(node)] = node
        if like is not None:
            node.name, like.name = like.name, node.name
            node.where = like.where
        self._touch(node)
        self._drop(*self._unused(before))

    def set_input(self, node: Node, index: int, value: Value | None) -> None:
        """Lets ``node`` read ``value`` as its input ``index``."""
        inputs: list[Value | None] = list(node.inputs)
        inputs[index] = value
        self.become(node, node.op, inputs, node.attributes)

    def replace(self, old: Value, new: Value) -> bool:
        """Lets everything that reads ``old``, the output of a node, read ``new``; outputs of graphs keep their name.

        False, and nothing done, where ``old`` is an output that cannot take the place of ``new``: of an input, a
        constant, another output or a value of another graph.
        """
        if old is new:
            return False
        node = old.node
        assert node is not None
        if id(old) in self._held:
            maker = new.node
            if maker is None or id(new) in self._held or self._home[id(maker)] is not self._home[id(node)]:
                return False
            # the value stays, under the name of the output
            node.outputs = [self._ghost(value) if value is old else value for value in node.outputs]
            maker.outputs = [old if value is new else value for value in maker.outputs]
            old.node = maker
            self._redirect(new, old)
            self._touch(maker)
        else:
            self._redirect(old, new)
            if new.node is not None and id(new.node) in self._home:
                self._touch(new.node)
        if not any(self._used(value) for value in node.outputs):
            self._drop(node)
        return True

    def _ghost(self, value: Value) -> Value:
        """What a node has for an output that another node gives now."""
        ghost = Value(self.unique(value.name), value.dtype, value.shape, None, value.node)
        self._uses[id(ghost)] = {}
        return ghost

    def _redirect(self, old: Value, new: Value) -> None:
        uses = self._uses.pop(id(old), {})
        for user in uses.values():
            user.inputs = [new if value is old else value for value in user.inputs]
            self._uses.setdefault(id(new), {})[id(user)] = user
            self._touch(user)
        self._uses.setdefault(id(old), {})

    def inline(self, node: Node, body: Graph) -> None:
        """Puts the nodes of ``body`` in the place of ``node``, which holds it; its outputs are those of ``node``."""
        home = self._home[id(node)]
        self._graphs.remove(body)
        for value in body.outputs:
            self._held.discard(id(value))
        for inner in body.nodes:
            self._home[id(inner)] = home
            self._touch(inner)
        self._ahead.setdefault(id(node), []).extend(
            part for inner in body.nodes for part in (*self._ahead.pop(id(inner), ()), inner)
        )
        node.attributes = {name: value for name, value in node.attributes.items() if value is not body}
        for old, new in zip(list(node.outputs), body.outputs, strict=True):
            if not self.replace(old, new):
                twin = self.emit(node, "Identity", [new], [(new.dtype, new.shape)])
                assert self.replace(old, twin)
        if id(node) in self._home:
            self._drop(node)

    # -- what nobody needs -------------------------------------------------------------------------------------------

    def sweep_dead(self) -> None:
        """Removes every node that no output depends on."""
        for graph in list(self._graphs):
            for node in reversed(graph.nodes):
                if id(node) in self._home and not any(self._used(value) for value in node.outputs):
                    self._drop(node)

    def _used(self, value: Value) -> bool:
        return bool(self._uses.get(id(value))) or id(value) in self._held

    def _drop(self, *nodes: Node) -> None:
        """Removes nodes, and those before them that nobody needs any more; a chain may be long, so no recursion."""
        stack = list(nodes)
        while stack:
            node = stack.pop()
            if self._home.pop(id(node), None) is None:
                continue
            self._keep.append(node)  # ids of nodes must not be given to new ones
            freed = [value for value in node.inputs if value is not None]
            for body in node.subgraphs():
                stack += self._leave(body)
                # outer values that the body answered with may be free now
                freed += body.outputs
            for value in freed:
                self._uses.get(id(value), {}).pop(id(node), None)
            stack += self._unused(freed)

    def _leave(self, body: Graph) -> list[Node]:
        if body in self._graphs:
            self._graphs.remove(body)
        for value in body.outputs:
            self._held.discard(id(value))
        return [part for inner in body.nodes for part in (*self._ahead.get(id(inner), ()), inner)]

    def _unused(self, values: Sequence[Value]) -> list[Node]:
        """Of the nodes that make ``values`` those that nobody needs; the others are noted as touched."""
        found = []
        for value in values:
            node = value.node
            if node is None or id(node) not in self._home:
                continue
            if any(self._used(output) for output in node.outputs):
                self._touched.append(node)
                self._touched.extend(self.users(value))
            else:
                found.append(node)
        return found

    def _touch(self, node: Node) -> None:
        self._touched.append(node)
        for value in node.outputs:
            self._touched.extend(self.users(value))
        for operand in node.inputs:
            if operand is not None and operand.node is not None and id(operand.node) in self._home:
                self._touched.append(operand.node)

    def finish(self) -> None:
        """Writes the nodes that live, in order, back into the graphs."""
        for graph in self._graphs:
            graph.nodes = [part for node in graph.nodes for part in self._expanded(node)]
        self._ahead.clear()

    def _expanded(self, node: Node) -> Iterator[Node]:
        for part in self._ahead.get(id(node), ()):
            yield from self._expanded(part)
        if id(node) in self._home:
            yield node
