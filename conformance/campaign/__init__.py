"""Campaigns of many pytest processes: plan, runs of columns, outcome, reruns, bisection."""
