"""The errors a user can act on. Each message is one line: what is wrong, where, and what to do."""


class PocketQAError(Exception):
    """Base of every error that is the input's fault, not the program's; commands print it and exit with 2."""


class OptionError(PocketQAError, ValueError):
    """An option has a value that cannot work; the message names the flag, the value and what is wanted."""


class SquadFormatError(PocketQAError):
    """A data or prediction file is not what it should be; the message names file and place."""


class BundleError(PocketQAError):
    """A bundle is missing, unfinished, changed, or of another kind than the stage needs."""


class DeviceError(PocketQAError):
    """A phone cannot be reached or cannot take a file; the message says which and what to do."""


class DownloadError(PocketQAError):
    """Something that lives on a hub could not be fetched; the message names the offline way."""


class ProbeError(PocketQAError):
    """This runtime computes this model differently from PyTorch; its answers cannot be trusted."""


class ParityError(PocketQAError):
    """An exported model differs from its PyTorch parent by more than its precision allows."""


class UnsupportedExport(PocketQAError):
    """A target runtime cannot express this model; the message says why and what to use instead."""
