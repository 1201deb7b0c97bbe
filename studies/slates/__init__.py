"""The slates paper: off-policy evaluation and learning of whole slates."""
