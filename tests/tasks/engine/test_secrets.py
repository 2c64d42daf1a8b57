"""Nothing that a run writes about itself holds a secret."""

from __future__ import annotations

import sys

from tasks.engine.job import describe
from tasks.engine.secrets import without_secrets
from tests.faults.subject import composed

KEY = "0123456789abcdef0123456789abcdef01234567"


def test_keys_of_the_environment_are_masked():
    environment = {"WANDB_API_KEY": KEY, "HF_TOKEN": "hf_abcdefgh", "KEYBOARD": "english us", "API_KEY": "short"}
    text = f"login {KEY} then hf_abcdefgh on an english us keyboard, short"
    assert without_secrets(text, environment) == "login <hidden> then <hidden> on an english us keyboard, short"


def test_passwords_of_addresses_are_masked():
    text = "https://me:pass@host/x and https://host/a@b"
    assert without_secrets(text, {}) == "https://<hidden>@host/x and https://host/a@b"


def test_a_key_that_came_into_the_settings_is_not_written(monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setattr(sys, "argv", ["run.py", f"logger.project={KEY}"])
    cfg = composed("logger=wandb", "logger.project=${oc.env:WANDB_API_KEY}", "logger.entity='http://me:word@host'")
    facts = describe(cfg)
    assert cfg.logger.project == KEY and "project: <hidden>" in facts["config"]
    assert all(KEY not in fact and "me:word" not in fact for fact in facts.values())
