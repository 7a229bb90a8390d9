"""JSON files that tests read, write and change."""

import json


def write_json(path, value):
    """Write a value as JSON."""
    path.write_text(json.dumps(value), encoding="utf-8")


def read_json(path):
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def change_json(path, **changes):
    """Change keys of a JSON file; None removes one."""
    values = read_json(path) | changes
    write_json(path, {key: value for key, value in values.items() if value is not None})
