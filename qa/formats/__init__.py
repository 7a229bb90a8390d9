"""Facts about formats and precisions, and the tensors that every runtime takes and gives."""
