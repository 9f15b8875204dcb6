"""The rules of models that can be trained on a device."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ..wire import View
from . import versions
from .features import same_type, type_difference
from .report import Findings, Place, count, show
from .weights import Storage

_TRAINABLE = ("convolution", "innerProduct", "uniDirectionalLSTM")
_BACKWARD = frozenset((*_TRAINABLE, "flatten", "pooling", "batchnorm"))
_BACKWARD_ACTIVATIONS = ("ReLU", "sigmoid", "tanh")
_LOSSES = {
    "categoricalCrossEntropyLossLayer": "categoricalCrossEntropy",
    "meanSquaredErrorLossLayer": "meanSquaredError",
}


def check_updatable(model: Any, place: Place, findings: Findings, views: Sequence[View], *, demote: bool) -> None:
    """All rules of an updatable network.

    ``demote`` makes them warnings: Apple's check leaves them out where shapes contradict each other.
    """
    _Check(model, place, findings, views, "warning" if demote else "").run()


class _Check:
    def __init__(self, model: Any, place: Place, findings: Findings, views: Sequence[View], severity: str) -> None:
        self.model = model
        self.kind = model.WhichOneof("Type")
        self.network = getattr(model, self.kind)
        self.update = self.network.updateParams
        self.place = place
        self.findings = findings
        self.views = views
        self.severity = severity
        self.writers = {name: layer for layer in self.network.layers for name in layer.output}
        self.softmaxes = {
            layer.output[0]
            for layer in self.network.layers
            if layer.WhichOneof("layer") == "softmax" and len(layer.output)
        }

    def add(self, code: str, field: str, required: str = "", found: str = "", place: Place | None = None) -> None:
        self.findings.add(code, place or self.place, field, required, found, severity=self.severity)

    def run(self) -> None:
        self.layers()
        self.names()
        self.loss()
        self.optimizer()
        self.path()
        self.training_inputs()

    # layers -----------------------------------------------------------------------------------------------------

    def layer_place(self, index: int) -> Place:
        layer = self.network.layers[index]
        return self.place.of_layer(index, layer.name, layer.WhichOneof("layer"))

    def layers(self) -> None:
        """Marked layers are of a kind that trains, and their weights are marked and not quantised."""
        marked = 0
        for index, layer in enumerate(self.network.layers):
            if not layer.isUpdatable:
                continue
            marked += 1
            kind = layer.WhichOneof("layer")
            where = self.layer_place(index)
            if kind not in _TRAINABLE:
                found = kind or "no type"
                self.add("update-layer-kind", "isUpdatable", f"stand on {', '.join(_TRAINABLE)} only", found, where)
            elif kind != "uniDirectionalLSTM":
                params = getattr(layer, kind)
                for field in ("weights", "bias") if params.hasBias else ("weights",):
                    self.marked_weights(getattr(params, field), f"{kind}.{field}", where)
        if not marked:
            self.add("update-no-layer", "isUpdatable", "be set on at least 1 layer", "none")

    def marked_weights(self, params: Any, field: str, where: Place) -> None:
        if params.HasField("quantization"):
            found = Storage(params, self.views).described
            self.add("update-weights", f"{field}.quantization", "not be set on weights that train", found, where)
        if not params.isUpdatable:
            self.add("update-weights", f"{field}.isUpdatable", "be set as on the layer", "false", where)

    def names(self) -> None:
        """Layers and loss layers have names of their own."""
        seen: set[str] = set()
        told: set[str] = set()
        for layer in (*self.network.layers, *self.update.lossLayers):
            if layer.name in seen and layer.name not in told:
                told.add(layer.name)
                self.add("update-names", "name", "be unique over layers and loss layers", show(layer.name))
            seen.add(layer.name)

    # loss and optimiser -------------------------------------------------------------------------------------------

    def loss(self) -> None:
        losses = self.update.lossLayers
        field = "updateParams.lossLayers"
        if not len(losses):
            self.add("update-loss-count", field, "hold 1 loss layer", "none")
        elif len(losses) > 1:
            self.add("update-loss-count", field, "hold 1 loss layer", str(len(losses)))
        for index, loss in enumerate(losses):
            self.one_loss(loss, f"{field}[{index}]")

    def one_loss(self, loss: Any, field: str) -> None:
        chosen = loss.WhichOneof("LossLayerType")
        if chosen is None:
            self.add("update-loss-kind", field, "be a cross entropy or a mean squared error", "none")
            return
        params, field = getattr(loss, chosen), f"{field}.{chosen}"
        above = self.writers.get(params.input)
        if chosen == "categoricalCrossEntropyLossLayer":
            if params.input not in self.softmaxes:
                found = f"{show(params.input)} of {above.WhichOneof('layer') if above else 'no layer'}"
                self.add("update-loss-input", f"{field}.input", "be the output of a softmax layer", found)
        elif above is None:
            self.add("update-loss-input", f"{field}.input", "be a blob that a layer writes", show(params.input))
        if params.target in self.writers:
            found = show(params.target)
            self.add("update-loss-target", f"{field}.target", "be no blob of the network", found)

    def optimizer(self) -> None:
        field = "updateParams.optimizer"
        chosen = self.update.optimizer.WhichOneof("OptimizerType")
        if chosen is None:
            self.add("update-optimizer", field, "be sgdOptimizer or adamOptimizer", "none")
        else:
            optimizer = getattr(self.update.optimizer, chosen)
            names = ("learningRate", "miniBatchSize")
            for name in names if chosen == "sgdOptimizer" else (*names, "beta1", "beta2", "eps"):
                self.parameter(optimizer, name, f"{field}.{chosen}.{name}")
        self.parameter(self.update, "epochs", "updateParams.epochs")
        if self.update.HasField("seed"):
            self.parameter(self.update, "seed", "updateParams.seed", positive=False)

    def parameter(self, message: Any, name: str, field: str, *, positive: bool = True) -> None:
        if not message.HasField(name):
            self.add("update-parameter", field, "be set", "none")
            return
        for problem in parameter_problems(getattr(message, name), positive=positive):
            self.add("update-parameter", f"{field}.{problem[0]}", *problem[1:])

    # the way back -------------------------------------------------------------------------------------------------

    def path(self) -> None:
        """Between the loss and every layer that trains, each layer must let a gradient through.

        The walk is Apple's: breadth first from the loss, and a layer without a gradient anywhere on it counts for all
        that is met later.
        """
        layers = self.network.layers
        writers = {name: index for index, layer in enumerate(layers) for name in layer.output}
        queue: deque[int] = deque()
        excused = -1
        for loss in self.update.lossLayers:
            chosen = loss.WhichOneof("LossLayerType")
            if chosen is None:
                continue
            start = writers.get(getattr(loss, chosen).input)
            if start is None:
                continue
            queue.append(start)
            if chosen == "categoricalCrossEntropyLossLayer" and layers[start].WhichOneof("layer") == "softmax":
                excused = start
        seen: set[int] = set(queue)
        blocked: int | None = None
        while queue:
            index = queue.popleft()
            layer = layers[index]
            if blocked is not None and layer.isUpdatable:
                required = "let a gradient through to the layers that train"
                found = f"{layers[blocked].WhichOneof('layer')} before {show(layer.name)}"
                self.add("update-path", "layer", required, found, self.layer_place(blocked))
                return
            if blocked is None and index != excused and not _has_gradient(layer):
                blocked = index
            for name in layer.input:
                above = writers.get(name)
                if above is not None and above not in seen:
                    seen.add(above)
                    queue.append(above)

    # training inputs ------------------------------------------------------------------------------------------------

    def training_inputs(self) -> None:
        description = self.model.description
        training = list(description.trainingInput)
        field = "description.trainingInput"
        if len(training) < 2:
            self.add("update-inputs", field, "hold an input of the model and a target", count(len(training), "feature"))
        inputs: dict[str, list[Any]] = {}
        for feature in description.input:
            inputs.setdefault(feature.name, []).append(feature.type)
        # names are told apart by the first few of a kind; more are no model, but an attempt to keep us busy
        own = [f for f in training if not any(same_type(f.type, type_) for type_ in inputs.get(f.name, ())[:16])]
        if training and not own:
            self.add("update-inputs", field, "hold a target that is no input of the model", "none")
        if len(own) == len(training):
            differing = next((f for f in training if f.name in inputs), None)
            found = "none"
            if differing is not None:
                difference = type_difference(differing.type, inputs[differing.name][0])
                found = f"{show(differing.name)}, which differs ({difference})"
            self.add("update-inputs", field, "hold an input of the model", found)
        self.target(own)

    def target(self, own: list[Any]) -> None:
        targets = set()
        for loss in self.update.lossLayers:
            chosen = loss.WhichOneof("LossLayerType")
            if chosen is not None:
                targets.add(getattr(loss, chosen).target)
        description = self.model.description
        names = {feature.name for feature in own}
        predicted = description.predictedFeatureName
        if self.kind == "neuralNetworkClassifier" and predicted:
            for feature in own:
                if feature.name != predicted:
                    continue
                outputs = [output for output in description.output if output.name == predicted]
                if outputs and not same_type(feature.type, outputs[0].type):
                    where = versions.feature_place(self.place, "trainingInput", feature)
                    difference = type_difference(feature.type, outputs[0].type)
                    self.add("update-target", "type", "equal that of predictedFeatureName", difference, where)
            targets.add(predicted)
        if own and targets and not names & targets:
            wanted = " or ".join(map(show, sorted(targets)))
            found = show(sorted(names))
            self.add("update-target", "description.trainingInput", f"hold the target of the loss, {wanted}", found)


def _has_gradient(layer: Any) -> bool:
    kind = layer.WhichOneof("layer")
    if kind == "activation":
        return layer.activation.WhichOneof("NonlinearityType") in _BACKWARD_ACTIVATIONS
    return kind in _BACKWARD


def parameter_problems(parameter: Any, *, positive: bool = True) -> list[tuple[str, str, str]]:
    """What is wrong with an Int64Parameter or DoubleParameter: field, requirement, value.

    A set of allowed values is looked at only up to the default, as Apple does.
    """
    default = parameter.defaultValue
    problems: list[tuple[str, str, str]] = []
    whole = parameter.DESCRIPTOR.name == "Int64Parameter"
    if whole and positive and default <= 0:
        problems.append(("defaultValue", "be above 0", str(default)))
    allowed = parameter.WhichOneof("AllowedValues")
    if allowed == "set":
        values = list(parameter.set.values)
        if default not in values:
            problems.append(("set.values", f"hold the default {default}", show(values)))
        else:
            values = values[: values.index(default)]
        if whole and positive and any(value <= 0 for value in values):
            problems.append(("set.values", "hold values above 0", show(values)))
    elif allowed == "range":
        low, high = parameter.range.minValue, parameter.range.maxValue
        if whole and positive and (low <= 0 or high <= 0):
            problems.append(("range", "have bounds above 0", f"{low} to {high}"))
        if not low <= default <= high:
            problems.append(("defaultValue", f"lie in the range {show(low)} to {show(high)}", show(default)))
    return problems
