"""The learned prior: its strength follows the evidence."""

from __future__ import annotations

import torch

from atd.shrinkage import LARGEST, TOLD, precision

E = 64


def estimates(spread: float, count_A: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """‖e_a‖² of effects estimated from text: true ones of this spread, shrunk and blurred as their words allow."""
    A = len(count_A)
    told = TOLD * count_A[:, None]
    true = spread * torch.randn(A, E, generator=generator)
    seen = true + torch.randn(A, E, generator=generator) / told.sqrt()
    return (seen * told / (told + spread**-2)).square().sum(1)


def test_the_strength_is_that_of_the_effects():
    generator = torch.Generator().manual_seed(0)
    count = torch.randint(500, 50_000, (300,), generator=generator).float()
    column = torch.zeros(300, dtype=torch.long)
    for spread in (0.1, 0.3):
        found = precision(estimates(spread, count, generator), E, count, column)
        assert 0.5 < found[0] * spread**2 < 2


def test_no_effect_is_held_as_firmly_as_can_be():
    count = torch.full((10,), 600.0)
    found = precision(torch.zeros(10), E, count, torch.zeros(10, dtype=torch.long))
    torch.testing.assert_close(found, torch.full((10,), LARGEST))


def test_every_column_has_its_own_strength_and_rare_values_hardly_count():
    count = torch.tensor([9e4, 9e4, 9e4, 9e4, 1.0, 1.0])
    column = torch.tensor([0, 0, 1, 1, 1, 1])
    effect = torch.tensor([0.09, 0.09, 0.01, 0.01, 0.0, 0.0]) * E
    found = precision(effect, E, count, column)
    assert abs(found[0] / 11 - 1) < 0.05 and found[0] == found[1]
    assert abs(found[2] / 91 - 1) < 0.05 and (found[2:] == found[2]).all()
