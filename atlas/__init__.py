"""Atlas: the voice of a house, on the house's own hardware."""

import os

__version__ = "0.1.0"

# From 1.29 on, onnxruntime reports the models it opens to its maker, unless this is set before it is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
