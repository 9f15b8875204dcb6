"""The codes of training, pipelines and of what goes beyond Apple's rules."""

from __future__ import annotations

from .codes import group

group(
    "update",
    "Updatable models",
    """
    update-layer-kind error
    A layer of a kind that cannot be trained is marked isUpdatable.
    isUpdatable on a batchnorm.
    Mark convolution, innerProduct or uniDirectionalLSTM only.

    update-weights error
    The weights of a layer that trains are not marked, or they are quantised.
    isUpdatable on the layer, but not on its weights.
    Mark weights and bias; train before quantising.

    update-no-layer error
    An updatable model without any layer to train.
    isUpdatable of the model only.
    Mark a layer and its weights.

    update-names error
    Layers or loss layers of an updatable model share a name.
    Two layers without a name.
    Name each layer.

    update-loss-count error
    An updatable model has not exactly one loss.
    lossLayers is empty.
    Set one loss layer.

    update-loss-kind error
    The loss is of no kind.
    A loss layer with a name only.
    Set a cross entropy or a mean squared error.

    update-loss-input error
    The loss does not stand on what it needs.
    A cross entropy on an innerProduct.
    Set a cross entropy on a softmax, a mean squared error on the output of a layer.

    update-loss-target error
    The target of the loss is a blob of the network.
    target 'output' where a layer writes 'output'.
    Name the target after the training input.

    update-optimizer error
    There is no optimiser.
    updateParams without optimizer.
    Set sgdOptimizer or adamOptimizer.

    update-parameter error
    A parameter of the training is missing or outside what it allows.
    epochs 10 with a set of 1, 5 and 20.
    Set a default that the range or set contains.

    update-path error
    A layer without a gradient stands between the loss and a layer that trains.
    An elementwise add above the last innerProduct.
    Mark only layers behind it, or replace the layer.

    update-inputs error
    The training inputs are not an input of the model and a target.
    trainingInput is empty.
    List the inputs to train with and the target.

    update-target error
    No training input is the target of the loss.
    The target is 'label_true', the training input 'label'.
    Give both the same name; a classifier may use predictedFeatureName.
    """,
)

group(
    "pipeline",
    "Pipelines and nearest neighbours",
    """
    pipeline-empty error
    A pipeline without models.
    models is empty.
    Add the models.

    pipeline-feature error
    Nothing provides what a model of a pipeline takes, or the pipeline yields.
    A model that reads 'features' before the one that writes them.
    Order the models, or correct the names.

    pipeline-type error
    A feature has two types along a pipeline.
    An image 224 x 224 fed to a network of 227 x 227.
    Give both the same type and size.

    pipeline-updatable error
    Another model than the last of an updatable pipeline is updatable, or none is.
    An updatable network within a pipeline that is not.
    Mark the pipeline and its last model.

    pipeline-names error
    The names of a pipeline's models are not one for each.
    Three models, two names.
    Give each a name, or none.

    neighbors-number error
    The number of neighbours is missing or outside what it allows.
    numberOfNeighbors 0.
    Set a default above 0 that the range or set contains.

    neighbors-weighting error
    There is no weighting of the neighbours.
    Neither uniformWeighting nor inverseDistanceWeighting.
    Set uniformWeighting.

    neighbors-label error
    The default label is missing or of another type than the labels.
    int64 labels with a string as default.
    Set the default label of the labels' type.

    neighbors-samples error
    Samples, labels and numberOfDimensions do not agree.
    Ten samples, nine labels.
    Give each sample a label and the same number of values.

    neighbors-index error
    There is no index, or its leaves are empty.
    leafSize 0.
    Set linearIndex.

    neighbors-distance error
    There is no distance function.
    squaredEuclideanDistance is not set.
    Set squaredEuclideanDistance.
    """,
)

group(
    "shapes",
    "Shapes",
    """
    shape-conflict warning
    Sizes along the network contradict each other.
    A convolution with kernelChannels 3 on a blob of 4 channels.
    Correct the size in the layer named, or in the one before it.
    """,
)

group(
    "fit",
    "Shapes of the whole network",
    """
    shape-misfit warning
    The network cannot take a size that its inputs declare.
    A range of 64 to 512 pixels before an innerProduct that is made for 224.
    Narrow the sizes to those that fit, or replace the layer that pins them.

    output-shape warning
    An output declares another number of values than the network yields.
    shape [1000] for a blob of [1, 1001].
    Correct the shape of the output.

    sizes-not-tried note
    The network or the list of its sizes is too long to try all of them.
    100 enumerated shapes.
    -

    not-supported note
    Pippin does not run this layer or this value of a parameter.
    A custom layer without a function.
    -
    """,
    apple=False,
)

group(
    "beyond",
    "Beyond Apple's rules",
    """
    weights-missing-accepted warning!
    Weights that a layer needs are not there, though Apple's check lets it pass.
    An innerProduct without weights.
    Convert the model again.

    weights-surplus warning
    Packed weights hold more bytes than needed.
    9 bytes for 16 values of 4 bits.
    Check that the sizes are those meant.

    output-not-produced-accepted warning!
    No layer writes an output of a regressor, though Apple's check lets it pass.
    An output 'price' where the last layer writes 'price:0'.
    Rename the output or the blob.

    version-too-low warning
    The model uses what its declared specificationVersion does not have yet.
    A cumSum layer (version 5) in a model of version 4.
    Raise specificationVersion so that older systems refuse the model rather than fail.

    version-negative warning
    The declared specificationVersion is negative, though Apple's check lets it pass.
    specificationVersion is -1.
    Set specificationVersion to the smallest version that has all the features used.

    labels-count warning
    There are not as many labels as probabilities.
    1,000 labels for 1,001 probabilities.
    Correct the labels, or the size of the last layer.

    feature-twice warning
    Two features share a name.
    Two inputs 'x'.
    Rename one.

    preprocessing-name warning
    Preprocessing for what is no image input.
    featureName 'data' where the input is 'image'.
    Name the input.

    input-unused note
    No layer reads an input of the model.
    An input that was optimised away.
    Remove the input.

    blob-unused note
    Nothing reads what a layer writes.
    A head of the network that no output names.
    Remove the layer, or declare the blob as an output.

    layer-name-twice note
    Layers share a name, so that messages and edits cannot tell them apart.
    Two layers 'relu'.
    Name each layer.

    weights-not-finite warning
    Weights hold NaN or infinity.
    A training that diverged; float32 values beyond 65504 cut to float16.
    Train or convert the model again.

    weights-overflow warning
    Weights are too large for half precision, which Apple's GPU and Neural Engine compute in.
    A bias of 100000.
    Scale the weights, or run on the CPU only.

    nms-threshold warning
    A threshold of NonMaximumSuppression is out of range.
    iouThreshold 1.5.
    Thresholds lie between 0 and 1; maxBoxes is at least 1.

    window-size warning!
    A kernel, stride or dilation is zero or not two numbers.
    kernelSize [3].
    Give height and width, both above 0.

    group-size warning!
    The channels cannot be divided into the groups.
    10 output channels in 4 groups.
    Correct nGroups.

    custom-layer note
    The network needs code that is not in the file.
    A custom layer of the class 'Swish'.
    Register a function for the class, see the guide on custom layers.

    update-ignored note
    Settings for training in a model that is not updatable.
    isUpdatable on a layer, not on the model.
    Set isUpdatable of the model, or remove them.
    """,
    apple=False,
)
