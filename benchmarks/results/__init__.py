"""Result classes, statistics, and the committed rows."""
