"""How a page is read: what families of click models share."""
