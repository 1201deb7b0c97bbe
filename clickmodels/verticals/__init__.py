"""Click models of pages with a vertical block: images, video, news, a map among web results."""
