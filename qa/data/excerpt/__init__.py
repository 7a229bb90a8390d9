"""The SQuAD excerpt that ships with the project (see NOTICE.md)."""
