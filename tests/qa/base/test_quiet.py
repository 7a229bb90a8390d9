"""Importing our packages changes nothing in the process of whoever does; a command keeps libraries quiet."""

import json
import logging
import os
import subprocess
import sys
from unittest import mock

import pytest
import torch
from places import ROOT, sources
from transformers.utils.logging import enable_progress_bar, is_progress_bar_enabled

from qa.base.quiet import quiet_libraries
from qa.bundles.bundle import open_bundle
from qa.runtime.runtimes import TorchRuntime

IMPORT_OURS = """
import importlib, json, logging, os, sys, warnings

def state():
    loggers = {name: getattr(logger, "level", 0) for name, logger in logging.root.manager.loggerDict.items()}
    levels = {name: level for name, level in loggers.items() if level}
    return [logging.getLogger().level, levels, [str(each) for each in warnings.filters], dict(os.environ)]

for name in ("accelerate.utils", "transformers.modeling_utils", "torch.onnx"):
    importlib.import_module(name)
before = state()
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([before, state()]))
"""


def modules():
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources()]
    return [name.removesuffix(".__init__") for name in sorted(names) if not name.endswith("__main__")]


@pytest.mark.system  # imports every module in a process of its own
def test_imports_change_nothing_that_the_libraries_do_not():
    """Those are imported first: some add warning filters and levels of their own."""
    ours = ("HF_", "TF_", "TOKEN", "TRANSFORM")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    command = [sys.executable, "-c", IMPORT_OURS, *modules()]
    done = subprocess.run(command, cwd=ROOT, env=inherited, capture_output=True, text=True, check=True)
    before, after = json.loads(done.stdout)
    assert after == before


@pytest.mark.parametrize(("wish", "level"), [(None, logging.ERROR), ("info", logging.INFO)])
def test_a_command_quiets_what_is_imported_already_unless_the_user_wants_to_hear_it(wish, level):
    logger = logging.getLogger("transformers")
    with mock.patch.dict(os.environ), mock.patch.object(logger, "level", logging.INFO):
        os.environ.pop("TRANSFORMERS_VERBOSITY", None)
        if wish is not None:
            os.environ["TRANSFORMERS_VERBOSITY"] = wish
        enable_progress_bar()
        quiet_libraries()
        assert logger.level == level
        assert not is_progress_bar_enabled()


def test_a_runtime_computes_with_its_threads_and_gives_the_process_its_own_back(make_bundle):
    runtime = TorchRuntime(open_bundle(make_bundle()).weights, 1)
    seen = []
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        runtime.model.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
        ids = torch.ones(1, 8, dtype=torch.long).numpy()
        runtime({"input_ids": ids, "attention_mask": ids, "token_type_ids": 0 * ids})
        assert (seen, torch.get_num_threads()) == ([1], 3)
    finally:
        torch.set_num_threads(before)
