"""How many inputs and outputs each layer kind has, and which ranks: the facts that are a table.

``inputs / outputs`` as in the format: ``1..2 / 1``, ``*`` for no upper bound, ``-`` for not checked. Then the ranks
of the first input and the first output, where known: ``eq`` both the same, ``4..`` at least 4, ``1..5`` between,
``5..5`` five.
"""

from __future__ import annotations

from dataclasses import dataclass

_ROWS = """
1..2 / 1  eq 4..   convolution
1 / 1  eq 1..5     innerProduct
1 / 1  eq 4..      pooling embedding
1 / 1  eq 3..      batchnorm lrn upsample bias l2normalize mvn softmax flatten reorganizeData scale resizeBilinear
1 / 1  eq 2..      padding
1 / 1  eq 5..5     reshape permute
1 / 1  eq 5..      sequenceRepeat convolution3d pooling3d globalPooling3d
1 / 1  eq 2..5     embeddingND
1 / 1  eq          unary argSort
1 / 1              activation reduce slice
1 / 2..*  eq 3..   split
1..* / 1           add multiply average max min
- / 1              loadConstant fillStatic rangeStatic loadConstantND randomNormalStatic randomUniformStatic
- / 1              randomBernoulliStatic
2 / 2  eq 5..5     simpleRecurrent
1..2 / 2  eq 5..5  gru
1..3 / 3  eq 5..5  uniDirectionalLSTM
1..5 / 5  eq 5..5  biDirectionalLSTM
1..2 / 1  eq 3..   crop
2 / 1  eq 3..      dot
2..* / 1  eq       concat
1..* / 1..*        custom
2 / 1  eq 5..      cropResize
1..2 / 1           batchedMatmul tile oneHot cumSum
1..2 / 1           equal notEqual lessThan lessEqual greaterThan greaterEqual
1..2 / 1  eq       constantPad
2..* / 1           concatND stack
1 / 1              softmaxND slidingWindows flattenTo2D reverse transpose expandDims squeeze rankPreservingReshape
1 / 1              reshapeStatic broadcastToStatic clip sliceStatic layerNormalization argMax argMin
1 / 1              reduceL1 reduceL2 reduceMax reduceMin reduceSum reduceProd reduceMean reduceLogSum
1 / 1              reduceSumSquare reduceLogSumExp
1 / 1              randomUniformLike randomUniformDynamic randomBernoulliLike randomBernoulliDynamic
1 / 1              sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp2 erf gelu clampedReLU ceil floor
1 / 1              round sign logicalNot copy
1 / 1              upperTriangular lowerTriangular matrixBandPart whereNonZero getShape fillLike fillDynamic
1 / 1              randomNormalLike randomNormalDynamic categoricalDistribution
1 / 2..*           splitND
1..2 / 2  eq       topK
3 / 1              scatter whereBroadcastable scatterND scatterAlongAxis
0..3 / 1           rangeDynamic
2..7 / 1           sliceDynamic
2 / 1              logicalAnd logicalOr logicalXor gather gatherND gatherAlongAxis
2 / 1              addBroadcastable subtractBroadcastable multiplyBroadcastable divideBroadcastable
2 / 1              floorDivBroadcastable modBroadcastable minBroadcastable maxBroadcastable powBroadcastable
2 / 1              reshapeLike reshapeDynamic broadcastToLike broadcastToDynamic reverseSeq sliceBySize
2..5 / 4           NonMaximumSuppression
1 / -              branch
0..1 / -           loop
- / -              loopBreak loopContinue
"""


@dataclass(frozen=True, slots=True)
class Row:
    """Bounds of the counts (None: not checked; upper None: none) and of the ranks."""

    inputs: tuple[int, int | None] | None
    outputs: tuple[int, int | None] | None
    equal: bool = False
    low: int = 0
    high: int | None = None


def _bounds(text: str) -> tuple[int, int | None] | None:
    if text == "-":
        return None
    low, _, high = text.partition("..")
    if not high:
        return int(low), int(low)
    return int(low), None if high == "*" else int(high)


def _parse(line: str) -> tuple[Row, list[str]]:
    inputs, _, outputs, *rest = line.split()
    equal, low, high = False, 0, None
    if rest and rest[0] == "eq":
        equal = True
        rest = rest[1:]
        if rest and ".." in rest[0]:
            first, _, last = rest[0].partition("..")
            low, high = int(first), int(last) if last else None
            rest = rest[1:]
    return Row(_bounds(inputs), _bounds(outputs), equal, low, high), rest


TABLE: dict[str, Row] = {kind: row for row, kinds in map(_parse, _ROWS.strip().splitlines()) for kind in kinds}
