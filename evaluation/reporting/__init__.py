"""Results for people: tables, figures, records, pages."""
