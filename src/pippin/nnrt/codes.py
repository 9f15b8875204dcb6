"""What the return codes say, for people: the interface has names and numbers only."""

from __future__ import annotations

from .enums import ReturnCode as C

MEANINGS: dict[C, str] = {
    C.SUCCESS: "done",
    C.FAILED: "the computation failed, or something that has no code of its own",
    C.NULL_PTR: "an argument is missing",
    C.INVALID_PARAMETER: "an argument, an extension or the memory of a Run is wrong",
    C.MEMORY_ERROR: "the memory of a constant cannot be read",
    C.OUT_OF_MEMORY: "there is not enough memory",
    C.OPERATION_FORBIDDEN: "the call is not allowed now",
    C.INVALID_FILE: "the file is no model, damaged or cut",
    C.INVALID_PATH: "there is no such path",
    C.INSUFFICIENT_BUFFER: "an output needs more room than it was given; the dims that it needs come along",
    C.NO_CHANGE: "nothing was changed",
    C.NOT_SUPPORT: "the device does not do this",
    C.SERVICE_ERROR: "the service that offers the device failed",
    C.DEVICE_ERROR: "the device failed",
    C.DEVICE_BUSY: "the device takes no more work now",
    C.CANCELLED: "the call was cancelled",
    C.PERMISSION_DENIED: "the caller may not do this",
    C.TIME_OUT: "the call took too long",
    C.INVALID_TENSOR: "the model has no tensors, or a tensor is wrong",
    C.INVALID_NODE: "the model has no nodes, or type or attributes of a node are wrong",
    C.INVALID_INPUT: "there are no inputs, too few or too many, or one that is no tensor of the model",
    C.INVALID_OUTPUT: "there are no outputs, too few or too many, or one that is no tensor of the model",
    C.INVALID_DATATYPE: "an element type is unknown, or is not the one that the model declares",
    C.INVALID_FORMAT: "a format is unknown, or is not the one that the model declares",
    C.INVALID_TENSOR_NAME: "a tensor's name is wrong",
    C.INVALID_SHAPE: "dims are wrong, or are not those that the model declares",
    C.OUT_OF_DIMENTION_RANGES: "a dim that the model leaves open is outside the range of the device",
    C.INVALID_BUFFER: "a buffer is not there, cannot be read, or is not one that the device gave out",
    C.INVALID_BUFFER_SIZE: "a buffer has the wrong size",
    C.INVALID_PERFORMANCE_MODE: "the performance mode must be 0 to 4",
    C.INVALID_PRIORITY: "the priority must be 0 to 3",
    C.INVALID_MODEL: "the model cannot be compiled: lists, indices, shapes or attributes contradict each other",
    C.INVALID_MODEL_CACHE: "the cache is damaged, or of another device or version",
    C.UNSUPPORTED_OP: "the device has no such operator",
}

HINTS: dict[C, str] = {
    C.INVALID_FILE: "is it a file of pippin.nnrt.save_model, and whole?",
    C.MEMORY_ERROR: "descriptor -1 marks a tensor that is no constant; any other must be open memory of bufferSize",
    C.INVALID_FORMAT: "FORMAT_NONE is -1, FORMAT_NCHW 0, FORMAT_NHWC 1",
    C.INVALID_SHAPE: "-1 stands for a dim that is not known before Run",
}
"""Remedies for some of them."""
