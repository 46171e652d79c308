"""Runs of many pytests: plan, legs, outcome, reruns, bisection."""
