"""Every sort of torture by name."""

from bundles import Bundles
from case import Torture
from command_lines import CommandLines
from disks import Disks
from java_texts import JavaTexts
from kills import Kills, Signals
from pairs import Pairs
from result_files import PhoneReports, ResultRows
from squad_files import SquadFiles
from texts import Texts

ALL = (
    SquadFiles,
    ResultRows,
    PhoneReports,
    Texts,
    JavaTexts,
    CommandLines,
    Bundles,
    Kills,
    Signals,
    Disks,
    Pairs,
)
SORTS: dict[str, type[Torture]] = {sort.name: sort for sort in ALL}
