"""How well a click model predicts clicks and ranks documents."""
