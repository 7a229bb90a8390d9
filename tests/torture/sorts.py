"""Every sort of torture by name."""

from bundles import Bundles
from case import Torture
from command_lines import CommandLines
from disks import Disks
from kills import Kills
from pairs import Pairs
from squad_files import SquadFiles
from texts import Texts

SORTS: dict[str, type[Torture]] = {sort.name: sort for sort in (SquadFiles, Bundles, Texts, CommandLines, Kills, Disks, Pairs)}
