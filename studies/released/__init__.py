"""The robustness paper's Tables 3 and 4 beside its released code: what each difference does."""
