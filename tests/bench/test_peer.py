"""The arithmetic and the words of peer.py, from fixed measurements."""
import os
import tempfile

import peer
import section
import tap
from tap import equal, fact, holds


def turn(rate, other, ready=1.0):
    n = len(peer.CASES)
    return {"sotto": {"rates": [rate] * n, "shares": [0.5] * n, "bounds": ["int8"] + ["memory"] * (n - 1), "ready": ready,
                      "resident": 120 << 20},
            "llama.cpp": {"rates": [other] * n, "ready": 2.0, "resident": 200 << 20}}


@fact
def a_ratio_is_of_one_turn_and_the_median_of_all():
    """The machine is half as fast in the second turn, for both."""
    turns = [turn(100, 50), turn(50, 25), turn(90, 60)]

    equal(peer.ratios(turns, "sotto", "llama.cpp", "rates"), [2.0] * len(peer.CASES))
    equal(peer.ratios(turns, "sotto", "llama.cpp", "ready"), [0.5])
    equal(peer.medians(turns, "llama.cpp", "rates")[0], 50)


@fact
def a_row_has_rates_ratio_and_share():
    head, rows = peer.head_of([turn(100, 50)]), peer.rows_of([turn(100, 50)])

    equal(head, ["tokens/s", "sotto", "llama.cpp", "sotto / llama.cpp", "sotto: of the limit"])
    equal(rows[0], ["prompt of 512 tokens", "100.0", "50.0", "2.00", "50 % of int8"])
    equal(rows[2], ["decode, 4 sequences, context 64", "100.0", "50.0", "2.00", "50 % of memory"])


@fact
def a_packed_copy_has_columns_of_its_own():
    both = turn(100, 50)
    both["packed"] = dict(turn(150, 0)["sotto"])

    equal(peer.head_of([both])[1:3], ["sotto", "sotto, packed"])
    equal(peer.rows_of([both])[1], ["decode, 1 sequence, context 64", "100.0", "150.0", "50.0", "2.00", "3.00", "50 % of memory"])


@fact
def a_section_is_replaced_and_the_rest_of_the_page_stays():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# Title\n\ntext\n")
        equal(section.kept(path, "one"), "")
        section.put(path, "one", "old\n")
        section.put(path, "two", "other\n")
        section.put(path, "one", "new\n")

        with open(path, encoding="utf-8") as file:
            text = file.read()
        equal(text, "# Title\n\ntext\n\n<!-- one -->\nnew\n<!-- end of one -->\n\n<!-- two -->\nother\n<!-- end of two -->\n")
        holds(section.kept(path, "one") in text, text)
        equal(section.kept(os.path.join(folder, "none"), "one"), "")


@fact
def a_first_section_begins_a_page_that_is_not_there():
    with tempfile.TemporaryDirectory() as folder:
        section.put(os.path.join(folder, "new.md"), "one", "text\n")
        equal(section.kept(os.path.join(folder, "new.md"), "one"), "\n<!-- one -->\ntext\n<!-- end of one -->\n")


tap.main()
