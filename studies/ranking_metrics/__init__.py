"""The paper on ranking metrics on non-shuffled traffic: its section 4, in simulation."""
