"""The scripts of recipes/, which are in no package."""

from importlib.util import module_from_spec, spec_from_file_location

from places import ROOT


def script_of(name):
    """A script of recipes/ as a module."""
    spec = spec_from_file_location(name, ROOT / "recipes" / f"{name}.py")
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    return script
