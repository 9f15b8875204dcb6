"""Edits of Core ML files: names, interface, preprocessing, sizes, weights, layers.

``pippin.edit(source)`` gives an ``Editor``. Each of its methods is one edit: it succeeds as a whole or leaves the model
as it was, and everything that refers to what is changed is kept in step. Nothing is written before ``save``, which
checks the result and runs the model before and after each edit.
"""

from __future__ import annotations

from .editor import Editor, Saved, edit
from .step import Step

__all__ = ["Editor", "Saved", "Step", "edit"]
