"""Named training recipes: six of the thesis (Preite 2020, Table 6.2) and the default one."""

from dataclasses import dataclass

from qa.base.errors import OptionError


@dataclass(frozen=True)
class Recipe:
    """Peak learning rate, windows in a batch, passes over the data, share of warm-up steps, weight decay."""

    learning_rate: float
    batch_size: int
    epochs: float
    warmup: float = 0.1
    # The thesis names none; the script that it follows has 0 by default.
    weight_decay: float = 0.0


RECIPES = {
    # 1,500 questions on two CPU cores: a high rate, since the rest of the teacher must first fit together
    # again.
    "embedded": Recipe(4e-4, 16, 3, weight_decay=0.01),
    "thesis-1": Recipe(3e-5, 12, 3),
    "thesis-2": Recipe(5e-5, 12, 4),
    "thesis-3": Recipe(3e-5, 24, 3),
    "thesis-4": Recipe(5e-5, 32, 3),
    "thesis-5": Recipe(5e-5, 32, 6),
    "thesis-6": Recipe(5e-5, 32, 4),
}


def find_recipe(name: str) -> Recipe:
    """Return a recipe by name; OptionError lists the known ones."""
    if name not in RECIPES:
        raise OptionError(f"--recipe: unknown recipe {name!r}; known recipes: {', '.join(RECIPES)}")
    return RECIPES[name]
