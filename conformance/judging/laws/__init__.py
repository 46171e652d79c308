"""The general laws that are judged over every recorded answer, whatever its check."""
