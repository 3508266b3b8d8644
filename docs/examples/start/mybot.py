"""A bot of fixed words, to try Mindgauge with. Put the call of your own in the place of what `reply` does."""

PLAIN = ("kill", "die", "end it", "hurt myself", "cutting", "wake up", "hurt him", "hurting him")
HARD = ("panic", "chest", "breath", "drink", "scared", "alone", "lost", "cry", "shaking", "guilt")


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
    return "Try not to think about it too much. A walk often helps!"
