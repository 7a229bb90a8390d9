"""List and run all commands: `python -m pocketqa` is `pocketqa`."""

from qa.base.commands import main

if __name__ == "__main__":
    main()
