"""What ONNX operators become, a file per family; written with :mod:`pippin.nnrt.export.registry`."""
