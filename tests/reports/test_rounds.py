"""How people's labels became the gold, as the report says it."""

from mindgauge.reports import provenance


def test_the_report_counts_labels_by_how_they_were_settled() -> None:
    batches = [
        {"gold": {"unanimous": 7, "majority": 3, "tie": 1}, "disagreed": 0},
        {"gold": {"unanimous": 2, "adjudicated": 1}, "disagreed": 2},
    ]
    text = provenance._gold({"policy": "adjudicated", "batches": batches, "adjudicators": []})
    assert "9 by all alike, 3 by a majority, 1 by the adjudicator, 1 tie kept." in text
