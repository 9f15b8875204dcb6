"""Float64 NumPy interpreters of both formats: plain, slow, and written from the specification's text alone.

They are the independent second opinion: what the engine computes is compared with what is computed here. Nothing in
this package may import a lowering, and nobody who writes a twin here looks at the lowering of the same kind.
"""
