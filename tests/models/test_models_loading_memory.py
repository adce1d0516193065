"""Loading a checkpoint takes hardly more host memory than its files are large."""

import sys

import pytest

from tests.benchmarks import loading_memory


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("stored", ["bfloat16"])
def test_peak_memory_of_a_checkpoint_of_135_million_parameters(stored, tmp_path):
    loading_memory.make(tmp_path / "made", "smollm2-135m", stored)
    found = loading_memory.measure(tmp_path / "made")
    assert found["parameter_bytes"] == 2 * 134_515_008
    assert 1 <= found["peak_over_file"] <= 1.3
