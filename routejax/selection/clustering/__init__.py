"""Inside of `clusters.kmeans`: one algorithm on exact integers, and what computes it.

`exact` holds the integer arithmetic, `two_level` the algorithm, `blocks` (BLAS) and
`sharded` (jax, a mesh of devices) the passes over the rows that it asks for; `library`
is scikit-learn's own algorithm.
"""
