"""Other data sets as SQuAD 2.0 JSON.

    python -m qa.data.convert rows questions.csv --out questions.json
    python -m qa.data.convert triviaqa --questions qa/wikipedia-train.json \\
        --evidence evidence --out triviaqa.json

Each prints what it converted and what it dropped, by reason; OUT.dropped.tsv names every dropped item with
its file and row.
"""

from qa.base.commands import main

if __name__ == "__main__":
    main("convert")
