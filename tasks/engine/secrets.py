"""What a run writes down about itself holds no secret of the environment, and no password of an address."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.I)  # how such variables are named
ADDRESS = re.compile(r"(?<=://)[^/\s@]+@")  # user:password@ of an address
SHORTEST = 8  # letters: what is shorter stands everywhere, and protects nothing
MASK = "<hidden>"  # YAML reads it as text


def without_secrets(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text with `<hidden>` for the values of variables such as WANDB_API_KEY, and for passwords in addresses."""
    secrets = [value for name, value in environment.items() if SECRET.search(name) and len(value) >= SHORTEST]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return ADDRESS.sub(f"{MASK}@", text)
