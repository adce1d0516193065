"""Instructions that a program can check, of IFEval and IFBench, by a kept library.

A prompt is solved if the response strictly follows all of its instructions; strict and
loose accuracy over prompts and over instructions are four numbers (`accuracies`). Some
instructions need data of nltk, which is never downloaded: set NLTK_DATA to its folder.
"""

from routejax.envs.instructions.environment import ENVIRONMENTS, config_of
from routejax.envs.instructions.library import BENCHMARKS
from routejax.envs.instructions.scores import accuracies

__all__ = ["BENCHMARKS", "ENVIRONMENTS", "accuracies", "config_of"]
