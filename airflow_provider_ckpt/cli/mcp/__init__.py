"""``ckpt mcp``: the tools by which assistants read."""
