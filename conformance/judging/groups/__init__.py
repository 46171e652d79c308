"""Judging consumer groups by what members, committers and describers were answered."""
