"""A hunt: rounds of machines over versions, with their findings and pages."""
