"""The README's map names every room, and every path it names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def rooms() -> list[str]:
    """Folders and modules directly under `routejax/`, as the map writes them."""
    found = []
    for path in sorted((ROOT / "routejax").iterdir()):
        if path.is_dir() and (path / "__init__.py").exists():
            found.append(f"{path.name}/")
        elif path.suffix == ".py" and path.name != "__init__.py":
            found.append(path.name)
    return found


def test_every_room_is_on_the_map():
    start = README.index("## Files")
    files = README[start : README.index("\n## ", start + 1)]
    missing = [name for name in rooms() if name not in files]
    assert not missing


def test_every_named_path_exists():
    named = re.findall(
        r"\b(?:routejax|configs|launch|tests|notebooks)/[\w/.]*\w", README
    )
    assert len(named) > 10
    assert [p for p in named if not (ROOT / p).exists()] == []


def test_set_up_commands_are_the_two_scripts():
    for script in ("launch/local.sh", "launch/test.sh"):
        assert f"bash {script}" in README
        assert (ROOT / script).stat().st_mode & 0o111
    assert "bash launch/test.sh" in (ROOT / ".ci" / "run").read_text()
