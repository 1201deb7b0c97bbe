"""Any table of clicks as a world and a log: files, frames and Arrow tables."""
