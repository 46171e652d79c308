"""The lab's faults on the miniature."""
