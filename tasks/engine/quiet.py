"""What other libraries say about themselves is kept from the screen."""

from __future__ import annotations

import logging
import warnings


def quieten() -> None:
    """Lightning's advice for other set-ups (workers, tips, hardware) would bury what a user needs to read."""
    for logger in ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*(does not have many workers|Checkpoint directory|is smaller than).*")
