"""A hunt: rounds of machines over versions, the findings of these, and their pages."""
