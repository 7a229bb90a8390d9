"""The file that the Android app opens, and checks against the app's Java core."""
