"""`python -m pocketqa`, where the script is not on the path."""

from pocketqa.commands import main

if __name__ == "__main__":
    main()
