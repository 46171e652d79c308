"""The words of a schedule."""

from strategies.words import words_in


def test_the_words_of_a_schedule_are_found_in_any_step() -> None:
    kill = {"do": "disturb-briefly", "fault": {"fault": "kill", "role": "former-leader"}}
    together = {"do": "together", "steps": [{"do": "disturb", "fault": {"fault": "pause", "role": "controller-101"}}]}
    assert words_in([kill, together, {"do": "produce", "to": "follower"}]) == {
        "disturb-briefly", "kill", "former-leader", "together", "disturb", "pause", "voter", "produce", "follower",
    }  # fmt: skip
    assert words_in([]) == set()
