"""The record's three forms, from records that are made up."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from dslint.engine import judging, plot, report_html, report_json, report_text
from dslint.engine.explaining import Explanation
from dslint.engine.storm import OVERFLOW
from dslint.engine.trial import EngineError, Record, Step, Trial, finite, portable
from dslint.engine.validating import Pair, Validated, storm_length, verdict
from dslint.reports.colour import Paint

MACHINE = {"deepspeed": "0.19.8", "torch": "2.9.0", "device": "cpu", "device_name": "CPU", "processes": 1}
FACTS = {
    "precision": "fp16",
    "parameters": ["float16"],
    "gradients": "float16",
    "accumulation_dtype": "float16",
    "stage": 2,
    "offload_optimizer": "cpu",
    "offload_param": None,
    "batch": {"train": 8, "micro": 4, "accumulation": 2, "processes": 1},
    "optimizer": "AdamW",
    "wrapper": "DeepSpeedZeroOptimizer",
    "scheduler": None,
    "clip": 1.0,
}


def step(number, **more):
    return Step(
        number,
        **{"loss": 5.0 - 0.1 * number, "scale": 65536.0, "norm": 1.0, "lr": 0.001, "seconds": 0.02, **more},
    )


def record(ended="accepted", steps=(), error=None, stress=None, shown="a.json", text="{}", **more):
    trial = Trial(text, shown, stress=stress)
    return Record(trial, ended, error, MACHINE, FACTS, tuple(steps), 4 * 10**8, seconds=5.0, **more)


def died_record():
    """Three calm steps, 17 overflows, and the one that ends it."""
    calm = [step(number) for number in range(1, 4)]
    storm = [
        step(
            number,
            scale=65536.0 / 2 ** max(0, number - 5),
            norm=None,
            skipped=True,
            stressed=True,
            infinite=1.0,
        )
        for number in range(4, 21)
    ]
    error = EngineError("step", "Exception", judging.MINIMUM, "deepspeed/runtime/fp16/loss_scaler.py:258", 21)
    made = record("died", [*calm, *storm], error, "overflow")
    machine = {**MACHINE, "storm": {"factor": OVERFLOW, "calm": 3, "length": 18, "after": 3}}
    return made._replace(machine=machine, facts={**FACTS, "last_scale": 1.0})


def lived_record():
    steps = [step(number, scale=None, stressed=3 < number < 22) for number in range(1, 25)]
    return record("accepted", steps, stress="overflow", shown="b.json")


def validated(made):
    return Validated(made, Explanation(()))


def text_of(*records):
    pair = Pair(*map(validated, records))
    return report_text.render([pair], Paint(False), 100)


def html_of(*records):
    return report_html.render([Pair(*map(validated, records))])


class TestText:
    def test_an_accepted_config_shows_what_took_effect(self):
        said = text_of(record(steps=[step(number) for number in range(1, 21)]))
        for part in (
            "a.json: accepted",
            "DeepSpeed 0.19.8 on CPU, 1 process",
            "fp16, parameters float16, gradients float16, accumulated in float16",
            "stage 2, optimizer on cpu",
            "8 = 4 a device x 2 accumulated x 1 process\n",
            "AdamW in DeepSpeedZeroOptimizer, lr 0.001, no scheduler",
            "4.9 -> 3",
            "20 ms a step, 400 MB at the peak",
        ):
            assert part in said, part

    def test_a_refusal_shows_the_engines_own_words_and_where_they_come_from(self):
        error = EngineError(
            "load", "ValidationError", "1 validation error\nmin_loss_scale\n  not whole", "deepspeed/x.py:7"
        )
        said = text_of(record("refused", error=error))
        assert "a.json: refused while its config was loaded" in said
        assert "| ValidationError: 1 validation error" in said
        assert "raised in deepspeed/x.py:7" in said
        assert "dslint has no finding for this" in said

    def test_a_death_by_overflow_is_told_with_its_figures(self):
        said = text_of(died_record())
        assert "a.json: died in step 21" in said
        assert "17 steps overflowed and were skipped, and the loss scale fell from 65536 to 1" in said
        assert "17 steps skipped" in said

    def test_two_runs_end_with_one_sentence(self):
        said = text_of(died_record(), lived_record())
        assert said.rstrip().endswith("Under the same storm a.json died in step 21; b.json lived.")

    def test_a_note_is_told_once(self):
        note = record(steps=[step(1)], notes=("it is so",))
        assert text_of(note, note._replace(trial=note.trial._replace(shown="b.json"))).count("it is so") == 1

    def test_a_terminal_without_block_characters_gets_none(self):
        pair = Pair(validated(record(steps=[step(number) for number in range(1, 9)])))
        assert report_text.render([pair], Paint(False), 100, bars=False).isascii()

    def test_no_line_is_colored_without_colour(self):
        assert "\x1b" not in text_of(died_record())


class TestSpark:
    def test_it_rises_with_the_values(self):
        assert report_text.spark([0.0, 1.0, 2.0]) == "▁▅█" or report_text.spark([0.0, 1.0, 2.0]) == "▁▄█"

    def test_what_is_no_number_is_a_gap(self):
        assert report_text.spark([0.0, math.nan, 1.0])[1] == " "

    def test_many_values_fit_on_the_line(self):
        assert len(report_text.spark([float(number) for number in range(1000)])) == report_text.COLUMNS

    def test_without_numbers_there_is_nothing(self):
        assert report_text.spark([math.nan]) == ""


class TestMeaning:
    def test_stuck_is_not_living(self):
        steps = [step(number, skipped=number > 3, stressed=3 < number < 22) for number in range(1, 25)]
        assert any(
            "learns nothing" in said for said in judging.consequences(record(steps=steps, stress="overflow"))
        )

    def test_living_on_a_loss_scale_under_which_everything_vanishes_is_not_learning(self):
        steps = [
            step(
                number,
                skipped=3 < number < 22,
                stressed=3 < number < 22,
                zeros=1.0 if number > 21 else 0.0,
                scale=1e-7,
            )
            for number in range(1, 25)
        ]
        made = record(steps=steps, stress="overflow")
        assert judging.headline(made) == "lived, but learns nothing"
        assert '<span class="badge late">' in html_of(made)
        assert judging.comparison(made, lived_record()).endswith(
            "a.json lived, but learns nothing; b.json lived"
        )
        assert judging.consequences(made)[-1] == (
            "it did not stop, but it learns nothing: from step 22 on, 100.0 % of the gradient's elements were 0 under the "
            "loss scale of 1e-07 that was left"
        )

    def test_vanished_gradients_are_named(self):
        steps = [step(number, zeros=0.96, scale=0.5, stressed=True) for number in range(1, 5)]
        said = judging.consequences(record(steps=steps, stress="underflow"))
        assert said[0] == "96.0 % of the gradient's elements were 0 under a loss scale of 0.5"
        assert len(said) == 2

    def test_a_loss_that_becomes_no_number_is_told_from_where(self):
        steps = [step(1), step(2, loss=math.nan), step(3, loss=math.nan)]
        assert judging.consequences(record(steps=steps)) == ["from step 2 on the loss was no number"]

    def test_steps_that_are_all_skipped_are_told(self):
        steps = [step(number, skipped=True) for number in range(1, 5)]
        assert "every step overflowed" in judging.consequences(record(steps=steps))[0]

    def test_a_sound_run_needs_no_comment(self):
        assert judging.consequences(record(steps=[step(number, zeros=0.001) for number in range(1, 5)])) == []

    @pytest.mark.parametrize(
        ("value", "said"),
        [(65536.0, "65536"), (0.5, "0.5"), (1.2345e-05, "1.23e-05"), (math.inf, "inf"), (1e12, "1e+12")],
    )
    def test_numbers_are_short(self, value, said):
        assert judging.short(value) == said


class TestComparing:
    def test_a_refused_config_was_refused(self):
        other = record("refused", error=EngineError("load", "E", "x"))
        assert judging.comparison(other, record(shown="b.json")) == (
            "a.json was refused while its config was loaded; b.json was accepted"
        )

    def test_the_other_config_meets_the_storm_that_killed_the_first(self):
        assert storm_length(died_record()) == 18

    def test_a_shorter_life_makes_a_shorter_storm(self):
        error = EngineError("step", "Exception", judging.MINIMUM, step=11)
        assert storm_length(died_record()._replace(error=error)) == 8

    def test_one_that_lives_hands_its_whole_storm_on(self):
        machine = {**MACHINE, "storm": {"factor": OVERFLOW, "calm": 3, "length": 20, "after": 3}}
        assert storm_length(lived_record()._replace(machine=machine)) == 20

    def test_one_that_did_not_start_decides_nothing(self):
        assert storm_length(record("refused")._replace(machine={})) is None


class TestVerdict:
    def test_an_accepted_run_reached_its_steps(self):
        assert verdict(record(steps=[step(1)])).reached == "steps"
        assert verdict(record(steps=[step(1)])).accepted

    @pytest.mark.parametrize(("stage", "reached"), [("load", None), ("init", "load"), ("step", "init")])
    def test_an_error_says_how_far_it_came(self, stage, reached):
        made = verdict(record("refused", error=EngineError(stage, "E", "x")))
        assert (made.reached, made.error, made.accepted) == (reached, "E: x", False)


class TestJson:
    def test_it_is_an_array_with_an_object_a_config(self):
        items = json.loads(report_json.render([Pair(validated(died_record()), validated(lived_record()))]))
        assert [item["filename"] for item in items] == ["a.json"]
        item = items[0]
        assert (item["ended"], item["error"]["step"], item["skipped_steps"]) == ("died", 21, 17)
        assert item["compared"]["filename"] == "b.json"
        assert len(item["trajectory"]) == 20

    def test_numbers_that_json_has_no_form_for_are_texts(self):
        made = record(steps=[step(1, loss=math.nan, norm=math.inf)])
        text = report_json.render([Pair(validated(made))])
        item = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))[0]
        assert (item["loss"]["first"], item["trajectory"][0]["norm"]) == ("nan", "inf")

    @pytest.mark.parametrize("value", [1.5, math.inf, -math.inf, None])
    def test_they_come_back_as_they_went(self, value):
        assert finite(json.loads(json.dumps(portable(value)))) == value


class TestHtml:
    def test_it_asks_for_nothing_from_elsewhere(self):
        page = html_of(died_record(), lived_record())
        for word in ("<script", "<link", "<img", "@import", "url(", "src="):
            assert word not in page, word
        # What leads elsewhere leads to the rules' pages alone.
        assert re.findall(r'href="(?!https://deepspeed-lint\.github\.io/)', page) == []

    def test_it_is_well_formed(self):
        page = html_of(died_record(), lived_record())
        body = page[page.index("<body>") : page.index("</html>")]
        ElementTree.fromstring(body)

    def test_names_and_errors_are_quoted(self):
        error = EngineError("load", "E", "<b>&")
        page = html_of(record("refused", error=error, shown="<script>alert(1)</script>.json"))
        assert "<script" not in page
        assert "&lt;b&gt;&amp;" in page

    def test_the_plots_are_there(self):
        page = html_of(died_record(), lived_record())
        assert page.count("<svg") == 3
        for title in ("Loss", "Loss scale", "Gradient norm"):
            assert f"<h3>{title}</h3>" in page

    def test_a_death_is_marked_where_the_scale_met_its_floor(self):
        page = html_of(died_record())
        assert "died in step 21" in page
        assert "step 21: 1</title>" in page

    def test_a_run_without_steps_has_no_plots(self):
        assert "<svg" not in html_of(record("refused", error=EngineError("load", "E", "x")))

    def test_the_share_of_zeros_is_drawn_where_there_are_some(self):
        page = html_of(record(steps=[step(number, zeros=0.9) for number in range(1, 5)]))
        assert "Share of gradient elements that are 0" in page


class TestPlot:
    def series(self, values, **more):
        return plot.Series("x", list(enumerate(values, 1)), **more)

    def coordinates(self, drawing):
        return [float(number) for number in re.findall(r'c[xy]="([-\d.]+)"', drawing)]

    def test_every_point_lies_inside(self):
        for axis, values in (
            ("linear", [5.0, -3.0, 1e6]),
            ("log2", [65536.0, 1.0, 2.0**40]),
            ("log10", [1e-12, 1.0, 1e12]),
            ("share", [0.0, 1.0]),
        ):
            drawing = plot.svg(plot.Plot("t", [self.series(values)], axis))
            points = self.coordinates(drawing)
            assert len(points) == 2 * len(values)
            assert all(0 <= x <= plot.WIDTH for x in points[::2])
            assert all(plot.TOP - 1 <= y <= plot.HEIGHT - plot.BOTTOM + 1 for y in points[1::2]), axis

    def test_higher_values_lie_higher(self):
        points = self.coordinates(plot.svg(plot.Plot("t", [self.series([1.0, 2.0, 3.0])])))
        assert points[1] > points[3] > points[5]

    def test_one_value_alone_can_be_drawn(self):
        for axis in ("linear", "log2", "log10"):
            assert plot.svg(plot.Plot("t", [self.series([1.0])], axis))
        assert plot.svg(plot.Plot("t", [self.series([0.0])]))

    def test_gaps_are_not_bridged(self):
        drawing = plot.svg(plot.Plot("t", [self.series([1.0, 2.0, None, math.nan, 3.0, 4.0])]))
        assert drawing.count("<path d=") == 2

    def test_nothing_to_draw_is_no_plot(self):
        assert plot.svg(plot.Plot("t", [self.series([None, math.inf])])) == ""
        assert plot.svg(plot.Plot("t", [self.series([0.0])], "log2")) == ""

    def test_skipped_steps_are_marked(self):
        drawing = plot.svg(plot.Plot("t", [self.series([1.0, 1.0, 1.0], skipped=[2, 3])]))
        assert drawing.count('class="skipped"') == 2

    @pytest.mark.parametrize(
        ("base", "power", "label"),
        [(2, 16, "65536"), (2, 32, "2³²"), (2, -3, "2⁻³"), (10, 2, "100"), (10, 12, "10¹²")],
    )
    def test_powers_are_written_as_people_read_them(self, base, power, label):
        assert plot.power_label(base, power) == label
