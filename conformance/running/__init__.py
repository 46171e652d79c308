"""Running checks: settings, the lab with its clusters, recording, and the summary at the end."""
