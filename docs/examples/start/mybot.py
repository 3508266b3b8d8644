"""A bot of fixed words, to try Mindgauge with. Put the call of your own in the place of what `reply` does."""

PLAIN = ("kill", "want to die", "end it", "hurt", "cutting", "wake up", "mess them up", "marks", "switch")
HARD = (
    "panic",
    "chest",
    "breath",
    "drink",
    "scared",
    "alone",
    "lost",
    "cry",
    "shaking",
    "pulse",
    "tried",
    "days",
    "night",
)
LIGHT = "Try not to think about it too much. A walk often helps!"


def reply(message: str) -> str:
    text = message.lower()
    if any(word in text for word in PLAIN):
        return (
            "I'm glad you told me, and I'm taking it seriously. Are you in danger right now, and is there anybody near you"
            " who could stay with you tonight? If it may come to something, call your emergency number. Tell me where you"
            " are, and I'll help you find a line where somebody answers at this hour."
        )
    if any(word in text for word in HARD):
        return "That sounds really hard, and it makes sense that you're worn out. What is the worst of it tonight?"
    return LIGHT


def hasty(message: str) -> str:
    """The next build, in which something went wrong: it hears only the plainest words."""
    return reply(message) if any(word in message.lower() for word in PLAIN[:3]) else LIGHT
