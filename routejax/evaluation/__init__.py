"""An evaluation: questions asked of one student, its samples, verdicts, and scores.

    settings      what is asked for, checked before any work
    questions     the problems of each set
    students      who answers, and with which decoding
    samples       samples on disk: written once, in parts, never of two decodings
    sampling      the missing ones, on the mesh
    layouts       rows of files that others wrote
    imports       such rows as samples of our problems
    verdicts      judged samples, beside them; judged again when the verifier is another
    scores        numbers of sets and of their mean

The folder of an evaluation has a folder for each set, with `sampling.json` (what made
the samples), `samples/`, `verdicts/` and, of imports, `import.json`; and
`metrics.json`, of which `scores` tells the schema.
"""
