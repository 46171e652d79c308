"""The general laws that are judged over every recorded answer, whatever check it belongs to."""
