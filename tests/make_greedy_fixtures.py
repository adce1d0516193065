"""Makes `greedy.npz` of the checkpoints in `models/fixtures`: what transformers says.

    python tests/make_greedy_fixtures.py

Two hundred random prompts of 1 to 40 ids for each, and `generate` at temperature 0: at
most 24 new ids, and two ids that stop. Ids only. It needs the `parity` extra; the tests
read what it wrote and need neither torch nor transformers.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).parent / "models/fixtures"
NAMES = ("llama", "qwen3", "olmo3")
COUNT, LONGEST, NEW, STOPS, VOCABULARY = 200, 40, 24, (2, 7), 64


class Greedy(NamedTuple):
    """Zero beyond the lengths."""

    prompts: np.ndarray  # [N P]
    prompt_lengths: np.ndarray  # [N]
    responses: np.ndarray  # [N R], the stop included
    lengths: np.ndarray  # [N]


def held(name: str) -> Greedy:
    with np.load(FOLDER / name / "greedy.npz") as file:
        return Greedy(**{key: file[key].astype(np.int32) for key in file})


def drawn(seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Prompts and their lengths, of which there are equally many of each."""
    rng = np.random.default_rng(seed)
    lengths = rng.permutation(np.arange(COUNT) % LONGEST + 1)
    ids = rng.integers(0, VOCABULARY, (COUNT, LONGEST))
    return np.where(np.arange(LONGEST) < lengths[:, None], ids, 0), lengths


def generated(name: str) -> Greedy:
    """By transformers, prompts of one length together: nothing is ever padded."""
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    load = transformers.AutoModelForCausalLM.from_pretrained
    model = load(FOLDER / name, dtype=torch.float32).eval()
    prompts, widths = drawn()
    responses, lengths = np.zeros((COUNT, NEW), int), np.zeros(COUNT, int)
    for width in range(1, LONGEST + 1):
        chosen = np.flatnonzero(widths == width)
        given = torch.tensor(prompts[chosen, :width])
        out = model.generate(
            given,
            attention_mask=torch.ones_like(given),
            do_sample=False,
            max_new_tokens=NEW,
            eos_token_id=list(STOPS),
            pad_token_id=0,
        )
        for n, row in zip(chosen, out[:, width:].numpy(), strict=True):
            ends = np.flatnonzero(np.isin(row, STOPS))
            lengths[n] = ends[0] + 1 if len(ends) else len(row)
            responses[n, : lengths[n]] = row[: lengths[n]]
    return Greedy(prompts, widths, responses, lengths)


def main() -> None:
    for name in NAMES:
        found = generated(name)
        small = {key: x.astype(np.int8) for key, x in found._asdict().items()}
        np.savez_compressed(FOLDER / name / "greedy.npz", **small)
        stopped = found.lengths < NEW
        print(name, "ended before the limit:", int(stopped.sum()), "of", COUNT)


if __name__ == "__main__":
    main()
