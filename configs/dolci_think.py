r"""Dolci-Think under its whole name: `configs/dolci.py` in a folder of its own.

python -m routejax.select --config=configs/dolci_think.py --config.pool.paths=FILES
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.dolci import get_config as dolci


def get_config() -> ConfigDict:
    config = dolci()
    config.name = "dolci_think"
    return config
