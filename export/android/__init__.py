"""The file that the Android app opens, and checks of it against the app's Java core."""
