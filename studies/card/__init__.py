"""How the deployment card's interval is made: simulated deployments that calibrate and test it."""
