"""Checkpoint files: what is damaged is not believed, and what cannot be is not allocated."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from atd import checkpoint, models
from atd.errors import AtdError
from atd.files import whole, write_whole
from tests.tasks.tiny_model import write_checkpoint


@pytest.fixture
def trained(tmp_path) -> Path:
    return write_checkpoint(tmp_path) / "checkpoints" / "atd" / "best.ckpt"


def changed(path: Path, change) -> Path:
    """The same checkpoint with other content, and right checksums."""
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, path)
    return path


def test_a_single_flipped_bit_is_refused_or_harmless(trained):
    """Padding, dates and the like may flip; what is loaded is what was saved."""
    good, draw = trained.read_bytes(), random.Random(0)
    expected = torch.load(trained, weights_only=True)["state_dict"]
    refused = 0
    for _ in range(300):
        place = draw.randrange(len(good) * 8)
        bad = bytearray(good)
        bad[place // 8] ^= 1 << place % 8
        trained.write_bytes(bad)
        try:
            found = checkpoint.read(trained)["state_dict"]
        except AtdError as error:
            assert str(error).startswith(f"{trained}: ") and "\n" not in str(error)
            refused += 1
            continue
        assert all(torch.equal(found[name], value) for name, value in expected.items()), f"bit {place}"
    assert refused > 100


def test_weights_that_are_no_numbers_are_refused(trained):
    changed(trained, lambda content: content["state_dict"]["model.b"].fill_(float("-inf")))
    with pytest.raises(AtdError, match=r"best\.ckpt.*b holds values that are no numbers"):
        models.load(trained)


def test_attributes_of_the_same_name_are_refused(trained):
    def twice(content):
        content["atd"]["attributes"][1] = content["atd"]["attributes"][0]

    with pytest.raises(AtdError, match="two attributes have the same name"):
        models.load(changed(trained, twice))


def test_words_of_the_same_name_are_refused(trained):
    def twice(content):
        words = content["atd"]["vocabularies"][0]["words"]
        words[-1] = words[-2]

    with pytest.raises(AtdError, match="every word once"):
        models.load(changed(trained, twice))


def test_sizes_are_compared_before_memory_is_taken(trained):
    """A model of 10¹² numbers, by its settings: refused at once."""
    with pytest.raises(AtdError, match=r"has shape .* where the settings say"):
        models.load(changed(trained, lambda content: content["atd"]["model"].update(K=10**6, F=10**6)))


def test_a_part_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    write_whole(path, "old")
    with pytest.raises(ValueError), whole(path) as part:
        part.write_text("half")
        raise ValueError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(AtdError, match=r"cannot be written .*choose another folder"):
        write_whole(tmp_path / "a.txt", "new")


def test_a_full_disk_leaves_the_old_checkpoint(trained, tmp_path):
    """The limit on the size of a file does what a full disk does."""
    program = (
        "import resource, signal, sys, torch\n"
        "from pathlib import Path\n"
        "from atd import checkpoint\n"
        "from atd.errors import AtdError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        "try:\n"
        "    checkpoint.write({'x': torch.zeros(1 << 20)}, Path(sys.argv[1]))\n"
        "except AtdError as error:\n"
        "    print(error)\n"
    )
    before = trained.read_bytes()
    done = subprocess.run([sys.executable, "-c", program, str(trained)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{trained}: cannot be written") and done.stdout.count("\n") == 1
    assert trained.read_bytes() == before and not list(tmp_path.rglob("*.part"))
