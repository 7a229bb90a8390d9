"""Standalone models: complete networks without an encoder of transformers and without a head."""

# Registry entry of each (qa.models.architectures.EncoderType) as module:name, imported when it is needed.
STANDALONE_MODELS = {
    "qanet": "qa.models.standalone.qanet:ENTRY",
    "bidaf": "qa.models.standalone.bidaf:ENTRY",
}
