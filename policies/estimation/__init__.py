"""The policy that made a log, estimated from its pages."""
