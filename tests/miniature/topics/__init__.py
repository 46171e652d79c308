"""Topics and configuration: what a controller decides about them, and what each broker describes."""
