"""A conformance run for NNRt devices: what driver writers can hold against an implementation of the interface v2.1.

>>> from pippin.nnrt.conformance import run_suite
>>> outcome = run_suite(device)
>>> print(outcome)

The object under test offers the interface in one of two manners: by its own names with codes first in the results, as
:class:`pippin.nnrt.hdi.INnrtDevice`, or in the manner of Python, as :class:`pippin.nnrt.device.Device`.  Buffers are
real descriptors.  A case passes, fails, or is not supported: the device says itself that it does not do this.

==========  ==========================================================================================================
device      name, vendor, type, status, flags
support     GetSupportedOperation: one flag a node, no refusal whatever the model holds
codes       bad models, configurations and runs, each with the code that it must get; hostile models, any refusal
buffers     AllocateBuffer and ReleaseBuffer, offsets, memory of others, descriptors of the wrong kind
dynamic     ranges of dims, dims that are open, outputs that are too small
cache       exported caches and stored models, whole and damaged
modes       performance modes, priorities, float16, extensions, threads
operators   a model of one node for every node type, against the float64 reference
numbers     small networks with known answers
==========  ==========================================================================================================
"""

from __future__ import annotations

from .outcome import Failed, NotSupported, Outcome, Result, Status
from .suite import GROUPS, Case, all_cases, run_suite

__all__ = ["GROUPS", "Case", "Failed", "NotSupported", "Outcome", "Result", "Status", "all_cases", "run_suite"]
