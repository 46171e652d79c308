"""The kit, installed: its command, and the kit's own packages in a folder that only this command looks into."""
