"""Check a dex file: it defines classes of the app only, and refers to LiteRT's interpreter without containing it.

    python3 android_demo/tools/check_dex.py classes.dex
"""

import struct
import sys
from pathlib import Path


def classes(dex: bytes) -> tuple[list[str], list[str]]:
    """Types a dex file refers to and types it defines, as Lorg/pocketqa/app/Main; (dex format: header, *_ids, class_defs)."""
    if dex[:4] != b"dex\n":
        raise ValueError("not a dex file")
    string_offset, _, type_offset = struct.unpack_from("<III", dex, 60)
    (n_types,) = struct.unpack_from("<I", dex, 64)
    n_classes, class_offset = struct.unpack_from("<II", dex, 96)

    def type_name(index: int) -> str:
        (string_index,) = struct.unpack_from("<I", dex, type_offset + 4 * index)
        (start,) = struct.unpack_from("<I", dex, string_offset + 4 * string_index)
        while dex[start] & 0x80:  # the string's length, a ULEB128 number
            start += 1
        return dex[start + 1 : dex.index(b"\0", start + 1)].decode()

    defined = [type_name(struct.unpack_from("<I", dex, class_offset + 32 * i)[0]) for i in range(n_classes)]
    return [type_name(i) for i in range(n_types)], defined


def main(path: str) -> str | None:
    """Return the fault to exit with, None if there is none."""
    try:
        referred, defined = classes(Path(path).read_bytes())
    except (OSError, ValueError, struct.error, IndexError) as error:
        return f"error: {path}: {error}"
    foreign = [name for name in defined if not name.startswith("Lorg/pocketqa/")]
    if foreign:
        return f"error: {path} contains classes that are not the app's: {', '.join(foreign)}"
    if "Lorg/tensorflow/lite/Interpreter;" not in referred:
        return f"error: {path} does not use org.tensorflow.lite.Interpreter"
    print(f"{len(defined)} classes, all of org.pocketqa; LiteRT is referred to, not contained")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else "error: usage: check_dex.py classes.dex")
