"""Lowerings of the NNRt node types, a file per family; written with :mod:`pippin.nnrt.nodes.base`."""
