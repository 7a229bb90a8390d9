"""Score of a teacher before a student spends hours on learning from it."""

from dataclasses import replace

from distill.data import DataSplits
from qa.base.files import file_sha256
from qa.base.sampling import evenly
from qa.bundles.bundle import Bundle
from qa.evaluation.predict import evaluate_runtime
from qa.evaluation.threshold import all_answered
from qa.runtime.runtimes import load_runtime

QUESTIONS = 200


def teacher_score(teacher: Bundle, splits: DataSplits) -> str:
    """Return a line with the teacher's F1 on some questions; empty where its summary has a score on them.

    They are questions of the evaluation data, else held out, else from the training data. Where these and
    all training questions have an answer, the teacher answers always, as its student will.
    """
    scores = teacher.manifest.scores
    if splits.eval is not None and scores and scores.data.sha256 == file_sha256(splits.eval.file):
        return ""
    if splits.eval is not None:
        source = splits.eval.file.name
        examples = splits.eval.examples
    elif splits.held_out:
        source = f"{splits.train_file.name}, held out"
        examples = splits.held_out
    else:
        source = splits.train_file.name
        examples = [e for e in splits.train if not e.unlabelled]
    sample = [examples[i] for i in evenly(len(examples), QUESTIONS)]
    if not sample:
        return f"{teacher.path}: no question has a label, so the teacher is not scored"
    model = teacher
    if all(e.answers for e in sample) and all_answered(splits.train):  # so a student always answers, too
        model = replace(teacher, settings=teacher.settings.in_mode("answering"))
    metrics, _ = evaluate_runtime(load_runtime(model), model, sample)
    f1 = f"F1 {metrics['f1']:.2f} on {len(sample)} questions of {source}"
    if model.settings.null_threshold is None and not all(e.answers for e in sample):
        f1 += f", {metrics['best_f1']:.2f} with the best threshold: it has none, and answers always"
    return f"teacher {teacher.path}: {f1}; a student rarely does better"
