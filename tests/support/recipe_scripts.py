"""Scripts of recipes/ and of the app's tools, which are in no package."""

from importlib.util import module_from_spec, spec_from_file_location

from places import ROOT


def script_of(name):
    """Import a script of recipes/ as a module."""
    return script_at(ROOT / "recipes" / f"{name}.py")


def script_at(path):
    """Import a file as a module."""
    spec = spec_from_file_location(path.stem, path)
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    return script
