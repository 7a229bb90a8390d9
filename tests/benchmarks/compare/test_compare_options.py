"""Options of compare.py that do not go together."""

import re
from pathlib import Path

import pytest

from benchmarks.options import CompareOptions
from qa.base.errors import OptionError

REEL = "--lengths must be unpadded, padded, or a number of tokens from 32, got reel"
PHONE = {"phone_report": (Path("a.json"),)}
REPORT = {"report": True}
MEASURING = {"data": "squad", "baseline": Path("x"), "quick": True, "threads": (1,), "toolchains": Path("x")}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"lengths": ("reel",)}, REEL),
        ({"lengths": ("16",)}, "--lengths must be unpadded, padded, or a number"),
        ({"lengths": ("unpadded", "unpadded")}, "--lengths must be one value or several, each once"),
        ({"threads": (0,)}, "--threads must be between 1 and"),
        ({"threads": ()}, "--threads must be one value or several"),
        ({"batch": (0,)}, "--batch must be at least 1"),
        ({"target": "gpu", "batch": (1, 32)}, "--target must be cpu, cuda, ssh:USER@HOST, qemu:CPU"),
        ({"target": "ssh:pi", "batch": (1, 32)}, "--batch cannot be combined with --target ssh:pi"),
        ({"target": "ssh:a", "baseline": Path("x")}, "--baseline cannot be combined with --target ssh:a"),
        ({"questions": 3}, "--questions cannot be combined with --target cpu"),
        ({"questions": 3, "target": "cuda"}, "--questions cannot be combined with --target cuda"),
        ({"threads": (1,), "target": "cuda"}, "--threads cannot be combined with --target cuda"),
        ({"questions": 0, "target": "qemu:max"}, "--questions must be at least 1"),
        ({"quick": True, "target": "qemu:max"}, "--quick cannot be combined with --target qemu:max"),
        ({"quick": True, "skip_latency": True}, "--quick cannot be combined with --skip-latency"),
        ({"batch": (1, 32), "skip_latency": True}, "--batch cannot be combined with --skip-latency"),
        *(
            (PHONE | {option: value}, f"--{option} cannot be combined with --phone-report")
            for option, value in MEASURING.items()
            if option != "data"
        ),
        (PHONE | {"skip_latency": True}, "--skip-latency cannot be combined with --phone-report"),
        (REPORT | {"skip_latency": True}, "--skip-latency cannot be combined with --report"),
        (REPORT | {"lengths": ("128",)}, "--lengths cannot be combined with --report"),
        (REPORT | PHONE, "--phone-report cannot be combined with --report"),
        (PHONE | {"target": "qemu:max"}, "--target cannot be combined with --phone-report"),
    ],
)
def test_options_are_checked(options, wanted):
    with pytest.raises(OptionError, match=re.escape(wanted)):
        CompareOptions(**options)
