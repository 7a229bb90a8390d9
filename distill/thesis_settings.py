"""Named training recipes: six of the thesis (Preite 2020, Table 6.2) and the default one."""

from distill.training.options import TrainingOptions

# Peak learning rate, windows in a batch, passes over the data.
THESIS = [(3e-5, 12, 3), (5e-5, 12, 4), (3e-5, 24, 3), (5e-5, 32, 3), (5e-5, 32, 6), (5e-5, 32, 4)]
RECIPES = {
    # 1,500 questions on two CPU cores: a high rate, since the rest of the teacher must first fit together
    # again.
    "embedded": TrainingOptions(4e-4, 16, 3),
    # The thesis names no weight decay; the script that it follows has 0 by default.
    **{f"thesis-{n}": TrainingOptions(*row, weight_decay=0.0) for n, row in enumerate(THESIS, start=1)},
}
