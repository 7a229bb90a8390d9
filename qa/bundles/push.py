"""Upload a bundle to the Hugging Face Hub, as one commit of all its files.

python -m qa.bundles.push --model runs/demo/student --repository me/student

The model card shows figures and licence there. Log in first: `hf auth login`, or HF_TOKEN.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from qa.base.commands import run_command
from qa.base.errors import OptionError, UploadError, first_line
from qa.bundles.bundle import Bundle, open_bundle
from qa.bundles.manifest import MANIFEST

REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
HUB_FILES = {".gitattributes"}  # which the hub itself adds


@dataclass(frozen=True)
class PushConfig:
    """Upload a bundle to the Hugging Face Hub."""

    model: Path
    """Bundle of any format. Every file is verified first."""
    repository: str
    """Repository on the hub, USER/NAME; it is created unless it exists."""
    public: bool = False
    """Let everybody see a new repository. By default it is private. An existing one stays as it is."""

    def __post_init__(self) -> None:
        if not REPOSITORY.fullmatch(self.repository):
            raise OptionError(f"--repository {self.repository}: not a name on the hub; give USER/NAME")


def push_to_hub(bundle: Bundle, repository: str, *, public: bool = False) -> str:
    """Upload all files of a bundle in one commit; return the address of the repository.

    OptionError when the repository has other files, which a download would mix with the bundle's; UploadError
    when the hub refuses or cannot be reached.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    hub = HfApi()
    names = sorted({MANIFEST, *bundle.manifest.files})
    try:
        url = hub.create_repo(repository, private=not public, exist_ok=True)
        other = sorted(set(hub.list_repo_files(repository)) - set(names) - HUB_FILES)
        if not other:
            files = [CommitOperationAdd(name, bundle.path / name) for name in names]
            message = f"{bundle.path.resolve().name}, bundle {bundle.sha256[:16]}"
            hub.create_commit(repository, files, commit_message=message)
    except Exception as error:  # the hub client has a dozen types for "cannot be reached" and "is refused"
        raise UploadError(
            f"--repository {repository}: the hub did not take the bundle ({first_line(error)}); log in with "
            "hf auth login, and check the name"
        ) from None
    if other:
        raise OptionError(
            f"--repository {repository}: has files that are not the bundle's ({other[0]}); give a repository "
            "of its own"
        )
    return str(url)


def main(config: PushConfig) -> str:
    """Upload a bundle and print the address."""
    bundle = open_bundle(config.model)
    url = push_to_hub(bundle, config.repository, public=config.public)
    print(f"{bundle.path}: {url}")
    return url


if __name__ == "__main__":
    run_command("push")
