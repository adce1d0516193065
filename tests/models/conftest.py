"""A checkpoint of a test's own."""

import shutil

import parity_folders
import pytest


@pytest.fixture
def copy(tmp_path):
    """A folder of a fixture's own, to be damaged."""

    def make(name="llama"):
        return shutil.copytree(parity_folders.FOLDER / name, tmp_path / name)

    return make
