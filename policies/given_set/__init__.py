"""In which order a policy shows documents, given which documents are on the page."""
