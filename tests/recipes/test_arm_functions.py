"""Instructions by function, with a library and a process's memory made up by hand."""

from recipe_scripts import script_of

script = script_of("arm_functions")

LISTED = """0000000000001000 t pack(float const*)
0000000000001100 T gemm
                 U memcpy
0000000000003000 d table
"""
SEGMENTS = """Program Headers:
  Type           Offset   VirtAddr           PhysAddr           FileSiz  MemSiz   Flg Align
  LOAD           0x000000 0x0000000000000000 0x0000000000000000 0x000800 0x000800 R   0x1000
  LOAD           0x000800 0x0000000000001000 0x0000000000001000 0x000400 0x000400 R E 0x1000
"""
# The second segment starts at 0x800 of the file; its page, from the beginning of the file on, at 0x7000 of memory.
MAPS = """7000-8000 r-xp 00000000 00:00 1 /lib/one.so
8000-9000 rw-p 00001000 00:00 1 /lib/one.so
9000-a000 r-xp 00000000 00:00 0
"""


def test_only_code_of_files_is_looked_up():
    assert script.executable_files(MAPS) == [(0x7000, 0x8000, 0, "/lib/one.so")]


def test_instructions_count_for_the_function_of_their_address(monkeypatch):
    monkeypatch.setattr(script, "read_symbols", lambda path: script.Symbols(LISTED, SEGMENTS))
    blocks = "7810 5\n7900 7\n7904 11\n7820 2\n9000 3\n"
    assert script.count_by_function(blocks, MAPS) == {
        "pack(float const*)": 7,
        "gemm": 18,
        "code of no file": 3,
    }
