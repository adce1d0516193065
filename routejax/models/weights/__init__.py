"""Weights of published checkpoints: into our tree and back, by one key table a family.

load: a folder of safetensors, or a GGUF file, straight onto devices
save: a folder that transformers and vLLM load
read_student: the student of a checkpoint without its weights
"""

from routejax.models.weights.loading import load, read_student
from routejax.models.weights.saving import save

__all__ = ["load", "read_student", "save"]
