"""The zip at the end of a file; every size in it is checked (APPNOTE.TXT 6.3: 4.3.7, 4.3.12, 4.3.16).

The app (ZipTail.java) and the page (zip.mjs) have the same rules. Python's zipfile has others. It ignores the
number of members, bytes behind the zip and members of the same name.
"""

import struct
import zlib
from pathlib import Path

from qa.base.errors import BundleError

# Signature, members here, members, directory bytes, directory start, comment.
END = struct.Struct("<4s4xHHIIH")
# Signature, flags, method, CRC, packed, size, three lengths, start.
ENTRY = struct.Struct("<4s4xHH4xIIIHHH8xI")
LOCAL = struct.Struct("<4s22xHH")  # signature, lengths of name and extra field
LONGEST_COMMENT = 0xFFFF
MOST_DIRECTORY_BYTES = 1 << 16
STORED = 0
DEFLATED = 8
ENCRYPTED = 1


class ZipTail:
    """Directory of a zip, and its members as text."""

    def __init__(self, path: Path, data: bytes) -> None:
        """Read the directory; BundleError names `path` when it is missing or damaged."""
        self._path = path
        self._data = data
        self._entries: dict[bytes, tuple[int, ...]] = {}
        end = self._find_end()
        _, _, count, n_bytes, self.directory_at, _ = END.unpack_from(data, end)
        if n_bytes > MOST_DIRECTORY_BYTES or self.directory_at + n_bytes != end:
            raise self._damaged("its directory does not fit")
        at = self.directory_at
        for _ in range(count):
            at = self._read_entry(at, end)

    def _find_end(self) -> int:
        last = len(self._data) - END.size
        for at in range(last, max(-1, last - LONGEST_COMMENT - 1), -1):
            if self._data[at : at + 4] != b"PK\x05\x06":
                continue
            if at + END.size + END.unpack_from(self._data, at)[-1] == len(self._data):
                return at
        raise BundleError(f"{self._path}: has no package at its end; copy the file again or export it again")

    def _read_entry(self, at: int, end: int) -> int:
        """Read one entry of the directory; return where the next begins."""
        if at + ENTRY.size > end or self._data[at : at + 4] != b"PK\x01\x02":
            raise self._damaged("its directory is cut off")
        entry = ENTRY.unpack_from(self._data, at)
        _, flags, method, crc, packed, size, *lengths, local_at = entry
        name = self._data[at + ENTRY.size : at + ENTRY.size + lengths[0]]
        following = at + ENTRY.size + sum(lengths)
        if following > end:
            raise self._damaged("its directory is cut off")
        if name in self._entries:
            raise self._damaged(f"{name!r} appears twice")
        self._entries[name] = (flags, method, crc, packed, size, local_at)
        return following

    @property
    def begin(self) -> int:
        """Place where the first member begins: the model must end there."""
        return min([self.directory_at, *(entry[-1] for entry in self._entries.values())])

    def text(self, name: str, most_bytes: int) -> str:
        """Return a member as text; BundleError when it is missing, damaged or larger than `most_bytes`."""
        entry = self._entries.get(name.encode())
        if entry is None:
            raise BundleError(f"{self._path}: the package has no {name}; export the model again")
        flags, method, crc, packed, size, local_at = entry
        if size > most_bytes:
            raise self._damaged(f"{name} claims {size} bytes, at most {most_bytes} are read")
        stored = method == STORED and packed == size
        if flags & ENCRYPTED or not (stored or method == DEFLATED):
            raise self._damaged(f"{name} uses an unsupported compression method")
        # zlib adds at most 5 bytes for each 16 KB. Empty blocks could add any number, and all would be read.
        if packed > size + size // 1000 + 64 or local_at + LOCAL.size > self.directory_at:
            raise self._damaged(f"{name} does not fit")
        signature, *lengths = LOCAL.unpack_from(self._data, local_at)
        data_at = local_at + LOCAL.size + sum(lengths)
        if signature != b"PK\x03\x04" or data_at + packed > self.directory_at:
            raise self._damaged(f"{name} does not fit")
        packed_bytes = self._data[data_at : data_at + packed]
        content = packed_bytes if stored else self._inflated(name, packed_bytes, size)
        if zlib.crc32(content) != crc:
            raise self._damaged(f"the checksum of {name} differs")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise self._damaged(f"{name} is not UTF-8 text") from None

    def _inflated(self, name: str, packed: bytes, size: int) -> bytes:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = inflater.decompress(packed, size + 1)
        except zlib.error:
            raise self._damaged(f"{name} cannot be unpacked") from None
        if len(content) != size or not inflater.eof or inflater.unused_data:
            raise self._damaged(f"{name} does not have the length in the directory")
        return content

    def _damaged(self, how: str) -> BundleError:
        return BundleError(f"{self._path}: the package is damaged ({how}); copy the file again")
