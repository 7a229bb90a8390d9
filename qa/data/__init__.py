"""Questions: SQuAD files, named data sets, metrics, samples, conversion, augmentation."""
