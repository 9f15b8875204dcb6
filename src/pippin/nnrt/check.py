"""Every problem of an NNRt model, each with the code that a device answers, where it is and what is required.

A device stops at the first problem; here each tensor, node and list is looked at.  What cannot be judged before
something else is mended (the graph of a model whose lists are wrong) is left until then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import files
from ..errors import PippinError, ReadError
from .buffers import Mappings
from .codes import HINTS, MEANINGS
from .container import Kind, unpack
from .enums import NodeType, ReturnCode
from .errors import NnrtError
from .file import model_of
from .model import (
    Checked,
    check_dims,
    check_input_dims,
    check_lists,
    check_meaning,
    check_model,
    check_node,
    check_quant_type,
    check_subgraph,
    check_tensor,
    execution_order,
    node_name,
    tensor_name,
)
from .types import Model

SCHEMA = "pippin.nnrt.check/1"
"""Name and version of the JSON form."""

WARNINGS = {
    "unsupported-node": "no device here runs this node",
    "dims-differ": "a node's output has other dims than the model declares; those of the operator count",
    "unused-tensor": "no node and no output uses this tensor",
    "unused-node": "the subgraph leaves this node out: it never runs",
    "not-a-number": "a constant holds NaN or infinity",
}
"""Findings that leave a model good."""

_SEVERITIES = ("error", "warning")


@dataclass(frozen=True)
class Finding:
    """One problem.

    ``code`` is the interface's name of the return code (``NNRT_INVALID_NODE``) with its ``number``, or a word of
    ``WARNINGS`` with None; ``where`` is the tensor, node or list; ``hint`` a remedy or empty.
    """

    code: str
    severity: str
    where: str
    message: str
    hint: str = ""
    number: int | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


@dataclass
class Report:
    """What :func:`check` says; ``answer`` is the code that PrepareModel gives for this model on a device here."""

    name: str = "model"
    answer: ReturnCode = ReturnCode.SUCCESS
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True if no finding is an error."""
        return not self.of("error")

    def of(self, severity: str) -> list[Finding]:
        """The findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]

    def summary(self) -> str:
        """One line: ``bad: 1 error; PrepareModel answers NNRT_INVALID_NODE (19)``."""
        counts = [(len(self.of(severity)), severity) for severity in _SEVERITIES]
        told = ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)
        answer = "" if self.answer is ReturnCode.SUCCESS else f"; PrepareModel answers {_named(self.answer)}"
        return f"{'good' if self.ok else 'bad'}: {told or 'nothing found'}{answer}"

    def lines(self, *, limit: int | None = None) -> Iterator[str]:
        """The readable report; of each code at most ``limit`` findings are told."""
        yield f"{self.name}: {self.summary()}"
        for severity in _SEVERITIES:
            groups: dict[str, list[Finding]] = {}
            for finding in self.of(severity):
                groups.setdefault(finding.code, []).append(finding)
            for code, findings in groups.items():
                yield f"  {severity} {_title(findings[0])}: {meaning(code)}"
                shown = findings if limit is None else findings[:limit]
                for finding in shown:
                    yield f"    {finding}"
                if len(findings) > len(shown):
                    yield f"    … and {len(findings) - len(shown):,} more"
                for hint in dict.fromkeys(finding.hint for finding in shown if finding.hint):
                    yield f"    hint: {hint}"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data: schema, name, ok, answer, findings."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "ok": self.ok,
            "answer": {"code": int(self.answer), "name": self.answer.idl_name},
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The report as JSON (see ``to_dict``)."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _named(code: ReturnCode) -> str:
    return f"{code.idl_name} ({int(code)})"


def _title(finding: Finding) -> str:
    return finding.code if finding.number is None else f"{finding.code} ({finding.number})"


def meaning(code: str) -> str:
    """What a code says in words."""
    return WARNINGS[code] if code in WARNINGS else MEANINGS[ReturnCode.parse(code)]


def check(source: str | os.PathLike[str] | bytes | Model, *, values: bool = True) -> Report:
    """Judges a model: a file, its bytes, or a :class:`~pippin.nnrt.types.Model`.

    ``values=False`` leaves the scan of constants for NaN and infinities out.  Nothing is raised for what a file holds;
    a prepared model (an exported cache) is only looked at as a file.
    """
    if isinstance(source, Model):
        return _Checker(source, values).report(source.name or "model")
    name = str(source) if isinstance(source, (str, os.PathLike)) else "model"
    try:
        container = unpack(files.read(source) if isinstance(source, (str, os.PathLike)) else source)
        if container.kind is Kind.PREPARED:
            return _prepared(container, name)
        model = model_of(container)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", where=name) from None
    except PippinError as error:
        return _unreadable(name, error)
    return _Checker(model, values).report(name)


def _unreadable(name: str, error: PippinError, code: ReturnCode = ReturnCode.INVALID_FILE) -> Report:
    found = Finding(
        code.idl_name, "error", error.where, error.message, error.hint or HINTS.get(code, ""), number=int(code)
    )
    return Report(name, code, [found])


def _prepared(container: Any, name: str) -> Report:
    """A cache is good if it is whole and of the versions that are installed."""
    from .cache import unpack_compiled

    try:
        unpack_compiled(container, None)
    except PippinError as error:
        return _unreadable(name, error, ReturnCode.INVALID_MODEL_CACHE)
    return Report(name)


class _Checker:
    """Looks at a model piece by piece, in the order in which a device does."""

    def __init__(self, model: Model, values: bool) -> None:
        self.model = model
        self.values = values
        self.findings: list[Finding] = []
        self.mappings = Mappings()

    def report(self, name: str) -> Report:
        """All findings; the first error is the answer of a device."""
        model = self.model
        if not self._all(check_lists, model):
            return Report(name, self._answer(), self.findings)
        tensors, nodes = range(len(model.allTensors)), range(len(model.nodes))
        known = [self._all(check_tensor, model, index, self.mappings) for index in tensors]
        for index in nodes:
            self._all(check_node, model, index)
        for index in nodes:
            self._all(check_quant_type, model, index)
        for index in tensors:
            known[index] = known[index] and self._all(check_meaning, model, index)
        sound = self._all(check_subgraph, model) and self._all(execution_order, model)
        for index in tensors:
            if known[index]:
                self._all(check_dims, model, index)
        for index in model.inputIndex:
            self._all(check_input_dims, model, index)
        if sound and not self.findings:
            self._graph()
        return Report(name, self._answer(), self.findings)

    def _answer(self) -> ReturnCode:
        first = next((finding for finding in self.findings if finding.number is not None), None)
        return ReturnCode.SUCCESS if first is None else ReturnCode(first.number or 0)

    def _all(self, function: Callable[..., Any], *arguments: Any) -> bool:
        try:
            function(*arguments)
        except NnrtError as error:
            self._error(error)
            return False
        return True

    def _error(self, error: NnrtError) -> None:
        if any(finding.message == error.message and finding.where == error.where for finding in self.findings):
            return
        hint = error.hint or HINTS.get(error.code, "")
        number = int(error.code)
        self.findings.append(Finding(error.code.idl_name, "error", error.where, error.message, hint, number))

    def _warn(self, code: str, where: str, message: str) -> None:
        self.findings.append(Finding(code, "warning", where, message))

    # -- what only shows when the graph is built ---------------------------------------------------------------------

    def _graph(self) -> None:
        try:
            checked = check_model(self.model, self.mappings)
        except NnrtError as error:  # constants whose size does not fit their dims
            self._error(error)
            return
        self._lower(checked)
        self._unused(checked)
        if self.values:
            self._numbers(checked)

    def _lower(self, checked: Checked) -> None:
        """Each node on its own: shapes and attributes that contradict each other, node types that are not run here."""
        from .lower import Lowerer
        from .nodes.base import NODES
        from .support import judge

        model = self.model
        lowerer = Lowerer(model.allTensors)
        for index in checked.order:
            node = model.nodes[index]
            answer = judge(lowerer, model, index, self.mappings)
            where = node_name(model, index)
            if NODES.get(NodeType(node.nodeType)) is None:
                self._warn("unsupported-node", where, answer.reason)
            elif not answer:
                code = ReturnCode.INVALID_MODEL
                self.findings.append(Finding(code.idl_name, "error", where, answer.reason, number=int(code)))
            else:
                for output in node.outputIndex:
                    self._compare_dims(lowerer.values[output].shape, output, where)

    def _compare_dims(self, shape: Any, index: int, where: str) -> None:
        declared = self.model.allTensors[index].dims
        made = [dim if isinstance(dim, int) else -1 for dim in shape]
        differ = any(-1 not in pair and pair[0] != pair[1] for pair in zip(declared, made, strict=False))
        if declared and (len(declared) != len(made) or differ):
            self._warn("dims-differ", where, f"{tensor_name(self.model, index)} declares {declared}, it has {made}")

    def _unused(self, checked: Checked) -> None:
        model = self.model
        used = {index for place in checked.order for index in model.nodes[place].inputIndex} | set(model.outputIndex)
        made = {index for place in checked.order for index in model.nodes[place].outputIndex}
        for index in range(len(model.allTensors)):
            if index not in used and index not in made:
                self._warn("unused-tensor", tensor_name(model, index), "nothing reads it")
        for index in sorted(set(range(len(model.nodes))) - set(checked.order)):
            self._warn("unused-node", node_name(model, index), "nodeIndices does not name it")

    def _numbers(self, checked: Checked) -> None:
        import numpy as np

        for index, array in checked.constants.items():
            if array.dtype.kind == "f":
                bad = int(array.size - np.isfinite(array).sum())
                if bad:
                    where = tensor_name(self.model, index)
                    self._warn("not-a-number", where, f"{bad:,} of {array.size:,} values are no finite numbers")
