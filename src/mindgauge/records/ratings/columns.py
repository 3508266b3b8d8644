"""What each column of a table is, by its name and by what stands in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.records import drawn
from mindgauge.records.ratings import raters
from mindgauge.records.text import compatible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mindgauge.records.ratings.tables import Sheet

NAMES: dict[str, tuple[str, ...]] = {
    "subject": (
        "subject", "subject_id", "reply_id", "response_id", "answer_id", "item", "item_id", "sample", "sample_id", "example_id",
        "message_id", "id", "uid", "uuid", "case", "case_id", "qid", "question_id", "conv_id", "convid", "conversation_id", "conversation",
        "dialogue_id", "dialog_id", "dialogue", "post_id", "thread_id", "session_id", "data_id", "idx", "index", "nr", "no", "number",
        "fall", "fall_id", "fallnummer", "vignette", "scenario", "scenario_id", "transcript", "chat", "chat_id", "prompt_id", "text_id",
        "record", "record_id", "row_id", "task_id", "session", "nummer", "_input_hash",
        "编号", "样本", "对话", "样本编号", "对话编号", "回复编号", "序号",
    ),
    "rater": (
        "rater", "rater_id", "rater_name", "annotator", "annotator_id", "annotator_name", "annotation_method", "coder", "coder_id",
        "reviewer", "reviewer_id", "evaluator", "evaluator_id", "assessor", "judge", "judge_model", "judge_name", "scorer",
        "labeler", "labeller", "expert", "expert_id", "clinician", "clinician_id", "worker", "worker_id", "rated_by", "评分者",
        "标注者", "标注员", "评审", "评分人", "评估者", "gutachter", "gutachterin", "beurteiler", "bewerter", "_annotator_id", "completed_by",
        "initials", "your_initials", "your_name", "rater_initials", "respondent", "respondent_id", "e_mail", "email", "email_address",
    ),
    "criterion": ("criterion", "criteria", "dimension", "attribute", "aspect", "metric", "rubric", "kriterium", "维度", "指标"),
    "value": ("value", "score", "rating", "level", "label", "answer", "judgement", "judgment", "verdict", "wert", "评分", "分数"),
    "rater_kind": ("rater_kind", "rater_type", "annotator_kind", "source_type"),
    "status": ("status",),
    "system": ("system", "model", "model_name", "generator", "answer_model", "response_model", "bot", "target_model", "被测模型"),
    "cluster": ("cluster", "conversation", "conversation_id", "conv_id", "dialogue_id", "thread_id", "session_id", "post_id", "persona"),
    "category": ("category", "topic", "crisis_type"),
    "selection": ("selection",),
    "language": ("language", "lang", "sprache", "语言"),
    **{name: (name,) for name in (*drawn.COLUMNS, drawn.WEIGHT)},
    "run": ("run", "repeat", "replicate", "repetition", "trial", "epoch", "seed"),
}  # fmt: skip
"""Our name of a column → what people call it, the likeliest first."""
_ID = re.compile(r"(?:^|_)(?:id|ids|nr|no|num|number|key|uuid|hash)$|编号$|^序号$")
_NO_VALUE = re.compile(
    r"""(?ix)
    length | tokens?$ | latency | _at$ | e_?mail | url$
    | (?:^|_)(?:time|timestamp|date|datetime|submitdate|seconds?|secs|minutes?|min|duration|elapsed|cost|age|year|n|count)(?:_|$)
    | ^(?:n_|num_)?(?:words|chars|characters|turns|messages)$
    | (?:^|_)(?:confidence|certainty|konfidenz|zeit|dauer|alter|datum|order|batch|seed|temperature|progress|finished|completed|lastpage|token)(?:_|$)
    | ^(?:split|fold|language|startlanguage|gender|sex|ip_?address|user_language|recipient\w*|distribution_channel|location_\w+)$
    | ^(?:rater|annotator|coder|reviewer|expert|evaluator|worker|clinician|judge|participant)s?_(?:age|name|gender|sex|role|profession|background|experience|type|id|email)$
    | 时间|日期|年龄|性别|姓名|置信|时长
    """
)
"""Names of columns that hold something else than a rating."""
_REMARK = re.compile(
    r"(?i)(?:^|_)(?:comments?|notes?|remarks?|rationale|explanation|reason|reasoning|feedback|kommentar\w{0,30}|bemerkung\w{0,30}|anmerkung\w{0,30})(?:$|\?)"
    r"|备注|评论|意见|理由|说明"
)
"""Names of columns with words that somebody wrote beside a rating."""
_STATISTIC = re.compile(
    r"""(?ix)
    (?:^|_)(?:kappa|alpha|icc|ac1|ac2|pearson|spearman|kendall|rho|corr|correlation|p_value|pvalue|std|sd|stdev|stddev|variance|mean|avg|average
    |median|ci|ci_low|ci_high|lower|upper|f1|auc|rmse|mae|mittelwert|durchschnitt|均值|平均)(?:_|$)
    | (?:^|_)(?:inter_?rater\w*|percent_agreement|krippendorff\w*|cohen\w*|fleiss\w*|gwet\w*)(?:_|$) | _vs_
    """
)
"""Names of columns that hold what was computed from ratings."""
_UNNAMED = re.compile(r"(?i)#\d+$|unnamed:|index$|level_0$|column_?0$|_c0$|row(?:_?(?:number|nr|id))?$")
"""Names of a column that counts rows, also where these were put into another order."""
DECIMAL_COMMA = r"^(-?\d+),(\d+)$"
_LONGEST, _WORDS, _NUMBERS = 80, 25, 60
MOST_RATERS = 60
"""Characters of a level; distinct words, and distinct numbers, of a criterion."""
_PROSE, _HAN = 5, 12
"""Words, and Chinese characters, of a text that is longer than a level."""


class InputColumn(NamedTuple):
    """What a column holds."""

    name: str
    key: str
    """Its name as names are compared: small letters, `_` between words."""
    rows: int
    filled: int
    distinct: int
    numbers: int
    """Cells that are numbers."""
    longest: int
    prose: int
    """Cells with several words."""
    counts: bool
    """Whether it counts the rows."""
    models: bool = False
    """Whether its cells are names of models."""

    @property
    def beside(self) -> bool:
        """Whether it is named like what stands beside ratings: a time, an age, a remark."""
        return bool(_NO_VALUE.search(self.key) or (not self.numeric and _REMARK.search(self.key)))

    @property
    def computed(self) -> bool:
        """Whether it is named like what is computed from ratings: a mean, a kappa."""
        return bool(_STATISTIC.search(self.key))

    @property
    def numeric(self) -> bool:
        """Whether most of its cells are numbers; some may say that nothing applies."""
        return self.filled > 0 and self.numbers > 0.5 * self.filled

    @property
    def is_text(self) -> bool:
        """Whether it holds texts that somebody wrote."""
        return not self.numeric and (self.longest > _LONGEST or self.prose > 0.5 * max(1, self.filled))

    @property
    def identifies(self) -> bool:
        """Whether its name is that of an id."""
        return bool(_ID.search(self.key)) or self.key in NAMES["subject"] or self.key.endswith(("convid", "itemid"))

    @property
    def could_rate(self) -> bool:
        """Whether its cells can be the values of one criterion."""
        if not self.filled or self.counts or self.is_text or self.beside or _ID.search(self.key):
            return False
        if self.computed or self.models or self.key in NAMES["subject"]:
            return False
        if self.numeric:
            return self.distinct <= _NUMBERS or 4 * self.distinct <= self.filled
        unlike = self.distinct == self.filled > 6
        return self.longest <= _LONGEST and self.distinct <= _WORDS and not unlike


def is_remark(key: str) -> bool:
    """Whether a column is named like words that somebody wrote next to a rating."""
    return bool(_REMARK.search(key))


def key(name: str) -> str:
    """Return a column's name as names are compared: `Annotator ID`, `annotatorId` are `annotator_id`."""
    text = compatible(name).strip()
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return re.sub(r"[\s\-_/]+", "_", text).strip("_").casefold()


def describe(sheet: Sheet) -> dict[str, InputColumn]:
    """Describe every column of a table."""
    frame = sheet.frame
    if not frame.height or not frame.width:  # no column is left of objects without a value
        return {}
    names = frame.columns
    number = pl.all().str.replace(DECIMAL_COMMA, "$1.$2").cast(pl.Float64, strict=False)
    sums = {
        "filled": pl.all().is_not_null().sum(),
        "distinct": pl.all().drop_nulls().n_unique(),
        "numbers": number.is_finite().sum(),
        "longest": pl.all().str.len_chars().max().fill_null(0),
        "prose": (
            (pl.all().str.count_matches(r"\s") >= _PROSE) | (pl.all().str.count_matches(r"\p{Han}") > _HAN)
        ).sum(),
        "step": (number.diff().drop_nulls() == 1).all() & (number.min() <= 1),
    }
    figures = {what: frame.select(expr).row(0) for what, expr in sums.items()}
    described: dict[str, InputColumn] = {}
    for at, name in enumerate(names):
        filled, distinct, numbers, longest, prose = (int(figures[what][at]) for what in ("filled", "distinct", "numbers", "longest", "prose"))  # fmt: skip
        in_order = bool(figures["step"][at]) or bool(_UNNAMED.match(name))
        counts = in_order and distinct == numbers == frame.height > 1
        models = numbers == 0 < distinct <= MOST_RATERS and all(
            map(raters.names_model, frame[name].drop_nulls().unique())
        )
        described[name] = InputColumn(
            name, key(name), frame.height, filled, distinct, numbers, longest, prose, counts, models
        )
    return described


def named(columns: Iterable[InputColumn], role: str, without: Collection[str] = ()) -> InputColumn | None:
    """Return the column that has one of a role's names, the likeliest first; None where there is none."""
    ranks = {name: rank for rank, name in enumerate(NAMES[role])}
    ranked = [column for column in columns if column.key in ranks and column.name not in without]
    return min(ranked, key=lambda column: ranks[column.key], default=None)
