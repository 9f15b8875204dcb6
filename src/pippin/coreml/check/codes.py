"""Every code that a finding can have: severity, meaning, an example, a remedy. The reference page is made of this."""

from __future__ import annotations

from dataclasses import dataclass

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding.

    ``fatal`` tells that the network, or the part of it where the finding stands, cannot run; an error that is not fatal
    is one that Apple's systems refuse and Pippin lives with. ``apple`` tells whether Apple's own check has the rule.
    """

    name: str
    severity: str
    group: str
    fatal: bool
    apple: bool
    meaning: str
    example: str
    remedy: str


CODES: dict[str, Code] = {}
GROUPS: dict[str, str] = {}


def group(name: str, title: str, rows: str, *, apple: bool = True) -> None:
    """Registers the codes of ``rows``: ``code severity[!]``, meaning, example and remedy on a line each.

    An exclamation mark stands for fatal; codes are separated by an empty line.
    """
    GROUPS[name] = title
    for block in rows.strip().split("\n\n"):
        head, meaning, example, remedy = (line.strip() for line in block.strip().splitlines())
        code, severity = head.split()
        assert code not in CODES, code
        assert severity.rstrip("!") in SEVERITIES, code
        CODES[code] = Code(
            code, severity.rstrip("!"), name, severity.endswith("!"), apple, meaning, example, remedy.strip("-")
        )


group(
    "file",
    "File and version",
    """
    unreadable error!
    The file is no Core ML model, or it is damaged.
    A download that stopped half way; a Git LFS pointer in the model's place.
    -

    version-missing error
    The file declares no specificationVersion.
    specificationVersion is 0 or absent.
    Set specificationVersion to the smallest version that has all the features used; 4 serves most networks.

    version-unknown error
    The declared specificationVersion is newer than any that is known.
    specificationVersion is 11.
    Lower specificationVersion, or update the checker if the version really exists.

    version-feature error
    A feature description or a flag needs a newer specificationVersion than the model declares.
    A FLOAT16 multi-array (7 and later) in a model of version 4.
    Raise specificationVersion, or do without the feature.

    model-type-missing error!
    The file describes a model but holds none.
    The conversion was interrupted, or the type is newer than the checker.
    Convert or download the model again.

    model-type-updatable error
    isUpdatable is set on a model of a type that cannot be trained on a device.
    An updatable treeEnsembleClassifier.
    Clear isUpdatable.

    model-type-not-judged note
    The inside of a model of this type is not checked.
    An mlProgram, or a glmClassifier inside a pipeline.
    -
    """,
)

group(
    "description",
    "Features and their descriptions",
    """
    inputs-missing error
    The model has no input, which its type or version does not allow.
    A neuralNetwork of version 4 whose description.input is empty.
    Declare an input, or raise specificationVersion to 9 for a network that needs none.

    outputs-missing error!
    The model has no output.
    description.output is empty.
    Declare the blobs to be returned as outputs.

    inputs-all-optional error
    All inputs of a network are optional or states.
    A network whose only input has isOptional.
    Clear isOptional on one input.

    input-optional-not-allowed error
    An optional input in a model of a type that has none.
    isOptional on an input of a glmRegressor.
    Clear isOptional.

    output-optional error
    An output is marked as optional.
    isOptional on an output.
    Clear isOptional; it is for inputs only.

    default-not-allowed error
    A default value for an optional input in a model of a type that has none.
    floatDefaultValue on an input of a pipeline.
    Remove the default value.

    default-type error
    The default value of an optional input does not go with its dataType.
    floatDefaultValue with dataType INT32; intDefaultValue 300 with INT8.
    Use the field that belongs to the dataType.

    functions-not-allowed error
    Functions in a model of a type that has none.
    description.functions of a neuralNetwork.
    Describe inputs and outputs at the top level.

    functions-invalid error
    The functions of a multi-function model contradict the rest of its description.
    defaultFunctionName names no function.
    Keep the top level empty and name one of the functions.

    feature-name-empty error
    A feature has no name.
    An input whose name is empty.
    Name the feature like the blob that it stands for.

    feature-type-missing error
    A feature has no type.
    An output described by its name only.
    Set imageType, multiArrayType or whatever it is.

    feature-place error
    A state stands where none may, or something else stands among the states.
    stateType in description.output.
    Move the feature to where its type belongs.

    feature-key-type error
    A dictionary has no type of keys, or a sequence no type of elements.
    A dictionaryType without int64KeyType and stringKeyType.
    Set the type that goes with the class labels.

    size-range error
    The upper bound of a size range lies below its lower bound.
    lowerBound 10, upperBound 5.
    Swap the bounds; an upperBound of -1 stands for none.

    default-outside-range error
    The default size of a flexible feature lies outside its range.
    shape [1] with a range of 2 to 8.
    Widen the range or choose another default.

    array-shape-missing error
    An input array has no shape.
    A multiArrayType input without shape and without flexible shapes (these count from version 3 on).
    Give the default shape.

    array-shape-negative error
    A shape holds a negative dim.
    shape [-1, 224, 224].
    Give a default size and describe what varies by shapeRange.

    array-enumerated error
    The enumerated shapes are empty or do not list the default shape.
    shape [3] with enumeratedShapes [2] and [4].
    Add the default shape to the list.

    array-range error
    The ranges of a flexible shape are not one for each dim.
    shape of 3 dims, 2 sizeRanges.
    Give a range for each dim.

    array-data-type error
    The dataType of an array is not set or unknown.
    dataType 0.
    Set FLOAT32, or DOUBLE, INT32, FLOAT16 (version 7), INT8 (version 10).

    image-size error
    An image has no width or height.
    width 0.
    Set the size that the network expects.

    image-enumerated error
    The enumerated sizes are empty or do not list the default size.
    224 x 224 with enumeratedSizes 192 x 192 only.
    Add the default size to the list.

    image-color error
    The colour space of an image is not set or unknown.
    colorSpace 0.
    Set RGB, BGR or GRAYSCALE.

    state-invalid error
    A state is described in a way that states cannot be.
    A state of dataType FLOAT32, or an optional one.
    Use a fixed shape and FLOAT16.
    """,
)

group(
    "interface",
    "Network and interface",
    """
    input-type error!
    An input of a network is neither image nor multi-array nor state.
    An input of type string.
    Feed numbers as a multi-array.

    output-type error
    An output of a neuralNetwork is neither image nor multi-array nor state.
    An output of type string without a classifier.
    Use a neuralNetworkClassifier for labels.

    predicted-feature error
    predictedFeatureName names no output of a fitting type.
    String labels, but the output it names is int64.
    Name the output that takes the label (classifier) or the value (regressor).

    predicted-probabilities error
    predictedProbabilitiesName names no output of a fitting type.
    It names an output of type string.
    Name an output of type dictionary, or leave it empty.

    labels-missing error!
    A classifier has no class labels.
    Neither stringClassLabels nor int64ClassLabels hold anything.
    Set the labels in the order of the network's probabilities.

    label-probability-layer error
    labelProbabilityLayerName names no blob that a layer writes.
    The name of a layer instead of its output.
    Name the output of the last layer.

    output-not-produced error
    No layer writes a blob of an output's name.
    An output 'prob' where the last layer writes 'prob:0'.
    Rename the output or the blob.

    output-twice error
    An output is declared twice.
    Two outputs of the name 'y'.
    Remove one.

    mapping-conflict error
    The mappings of arrays and images do not go together, or not with the layers.
    RANK5_ARRAY_MAPPING in a network with a transpose layer.
    Set arrayInputShapeMapping to EXACT_ARRAY_MAPPING.

    layers-missing error!
    The network has no layers.
    layers is empty.
    Convert the model again.

    rank5-shape error
    An array of a network on five axes has neither 1 nor 3 dims.
    shape [1, 3, 224, 224] with RANK5_ARRAY_MAPPING.
    Declare [3, 224, 224], or use EXACT_ARRAY_MAPPING.

    nd-shape error
    An array of a network with exact ranks has no default shape, or not a range for each of its dims.
    EXACT_ARRAY_MAPPING with enumeratedShapes only.
    Give the default shape as well.
    """,
)

group(
    "graph",
    "Layers and blobs",
    """
    layer-type-missing error!
    A layer has no type, or one that is not known.
    A layer kind newer than the format.
    Convert the model again.

    layer-inputs error
    A layer has too few or too many inputs.
    A softmax with two inputs.
    Name as many blobs as the layer kind takes.

    layer-outputs error
    A layer has too few or too many outputs.
    A uniDirectionalLSTM with one output.
    Name as many blobs as the layer kind yields.

    blob-unknown error!
    A layer reads a blob that nothing before it writes.
    Layers that are not in the order of execution.
    Sort the layers, or correct the name.

    blob-rewritten error
    A layer writes a blob that exists already.
    An activation that works in place: input 'x', output 'x'.
    Give the output a name of its own; only copy may overwrite.

    copy-onto-itself error
    A copy layer copies a blob onto itself.
    input 'x', output 'x'.
    Remove the layer.

    tensor-count error
    inputTensor or outputTensor does not list a tensor for each blob.
    Two inputs and one inputTensor.
    Describe all or none.

    tensor-rank error
    The rank of a tensor is not the number of its dims.
    rank 3 with four values in dimValue.
    Set the rank to the number of dims.

    rank-conflict error
    A blob is described with two ranks.
    Rank 4 as an output, rank 3 where it is read.
    Correct the tensors; they describe, they do not reshape.

    rank-equal error
    Ranks that have to be equal are not.
    An activation from rank 4 to rank 3.
    Correct the tensors or add a layer that reshapes.

    rank-range error
    The rank of a blob does not suit the layer.
    A convolution of a blob of rank 3.
    Add the missing dims with expandDims.

    parameter-missing error!
    A choice in a layer's parameters is not made.
    A convolution with neither valid nor same padding.
    Set one of the choices.

    parameter-length error
    A list in a layer's parameters has a wrong length.
    A permute with three axes.
    Give as many values as required.

    parameter-value error
    A parameter lies outside what is allowed.
    blockSize 1 of reorganizeData.
    Correct the value.

    parameter-order error
    A lower bound lies above the upper one.
    clip with minVal 6 and maxVal 0.
    Swap the bounds.

    parameter-conflict error
    Two parameters exclude each other.
    scalingFactor and fractionalScalingFactor of upsample.
    Keep the one that is meant.

    parameter-axis error
    An axis does not go with the rank that the layer lists.
    axis 3 with inputTensor of rank 3.
    Axes count from 0, or from -1 at the end.

    recurrent-activation error!
    An activation that recurrent layers do not have.
    softsign in an LSTM.
    Use sigmoid, tanh, ReLU, linear, scaledTanh or sigmoidHard.

    custom-class error!
    A custom layer does not say which class it is.
    className is empty.
    Set className.

    branch-empty error!
    The first branch of a branch layer has no layers.
    ifBranch is empty.
    Swap the branches and negate the condition.

    condition-size error
    The condition of a branch or loop holds more than one value.
    inputTensor with dimValue [2].
    Reduce the condition to one value.

    loop-body-empty error!
    A loop has no body.
    bodyNetwork has no layers.
    Remove the loop.

    loop-condition error!
    The condition of a loop is incomplete or never computed.
    conditionVar without a conditionNetwork.
    Let the last layer of conditionNetwork write conditionVar.

    loop-endless error!
    Nothing ever ends the loop.
    No conditionNetwork, no input and maxLoopIterations 0.
    Set maxLoopIterations.

    loop-outside error!
    loopBreak or loopContinue outside a loop.
    A loopBreak at the top level.
    Move it into the bodyNetwork.
    """,
)

group(
    "weights",
    "Weights",
    """
    weights-missing error!
    Weights that a layer needs are not there.
    hasBias without bias; rawValue without quantization.
    Convert the model again.

    weights-ambiguous error!
    Weights are stored in more than one encoding.
    floatValue and float16Value both hold values.
    Keep one of them.

    weights-mixed error
    float32 and float16 side by side in one layer, or encodings that must be alike are not.
    float16 weights with a float32 bias.
    Store all weights of the layer alike.

    weights-count error!
    The number of weights is not what the layer's sizes make it.
    A convolution of 3 x 3 x 16 x 32 with 4,600 values.
    Correct the sizes of the layer; kernelChannels and nGroups are the usual suspects.

    weights-quantization error!
    The quantisation is incomplete: bits, scale, bias or table.
    A lookup table of 4 bits with 15 entries.
    Quantise the weights again.

    weights-int8 error
    int8DynamicQuantize needs int8 weights with one scale.
    float32 weights in a layer with int8DynamicQuantize.
    Clear int8DynamicQuantize, or quantise the weights.

    weights-int8-not-allowed error!
    int8 weights in a layer that does not know them.
    int8RawValue in a convolution.
    Store them as rawValue with 8 bits.

    weights-encoding error
    Weights in an encoding that the layer does not know.
    A quantised or float16 gamma of layerNormalization; quantised weights of convolution3d.
    Store them as float32.
    """,
)

from . import codes_more  # noqa: E402, F401  (registers the rest)
