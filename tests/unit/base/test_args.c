/* Options, values, and sentences for errors. */
#include "base/args.h"
#include "unit.h"
#include <string.h>

static const struct arg_row rows[] = {
    { "max-tokens", 'n', ARG_UINT, "N", NULL, "Stop after N tokens." },
    { "raw", 0, ARG_FLAG, NULL, NULL, "Text as it is." },
    { "stop", 0, ARG_TEXT, "S", NULL, "Stop at S." },
    { "temperature", 0, ARG_FLOAT, "T", NULL, "Randomness." },
    { "class", 0, ARG_CHOICE, NULL, "realtime|interactive|background", "Class of the request." },
    { NULL },
};

enum { ROW_MAX_TOKENS, ROW_RAW, ROW_STOP, ROW_TEMPERATURE, ROW_CLASS };

/* Parses up to 2 words and gives the outcome of the first. */
static int first(const char *a, const char *b, struct arg_found *found, struct diag *diag)
{
    char *argv[] = { (char *)a, (char *)b, NULL };
    struct args args;

    args_init(&args, rows, (a != NULL) + (b != NULL), argv);
    return args_next(&args, found, diag);
}

static void assert_bad(const char *a, const char *b, const char *sentence)
{
    struct arg_found found;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(first(a, b, &found, &diag), ARGS_BAD);
    ck_assert_msg(strstr(diag.text, sentence), "\"%s\" has no \"%s\"", diag.text, sentence);
}

START_TEST(no_words_are_the_end)
{
    struct arg_found found;

    ck_assert_int_eq(first(NULL, NULL, &found, NULL), ARGS_END);
}
END_TEST

START_TEST(value_may_follow_or_be_joined)
{
    struct arg_found found;

    ck_assert_int_eq(first("--max-tokens", "12", &found, NULL), ARGS_FOUND);
    ck_assert_int_eq(found.row, ROW_MAX_TOKENS);
    ck_assert_uint_eq(found.number, 12);
    ck_assert_int_eq(first("--max-tokens=13", NULL, &found, NULL), ARGS_FOUND);
    ck_assert_uint_eq(found.number, 13);
    ck_assert_int_eq(first("-n", "14", &found, NULL), ARGS_FOUND);
    ck_assert_uint_eq(found.number, 14);
}
END_TEST

START_TEST(text_may_be_empty_or_look_like_an_option)
{
    struct arg_found found;

    ck_assert_int_eq(first("--stop=", NULL, &found, NULL), ARGS_FOUND);
    ck_assert_str_eq(found.text, "");
    ck_assert_int_eq(first("--stop", "", &found, NULL), ARGS_FOUND);
    ck_assert_str_eq(found.text, "");
    ck_assert_int_eq(first("--stop", "--raw", &found, NULL), ARGS_FOUND);
    ck_assert_str_eq(found.text, "--raw");
}
END_TEST

START_TEST(largest_number_is_2_to_the_64_less_1)
{
    struct arg_found found;

    ck_assert_int_eq(first("-n", "18446744073709551615", &found, NULL), ARGS_FOUND);
    ck_assert_uint_eq(found.number, UINT64_MAX);
    assert_bad("-n", "18446744073709551616", "not a whole number");
    assert_bad("-n", "99999999999999999999999", "not a whole number");
}
END_TEST

START_TEST(bad_whole_numbers_are_refused)
{
    const char *bad[] = { "", "-1", "+1", " 1", "1 ", "0x10", "1.0", "abc" };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_bad("--max-tokens", bad[i], "--max-tokens: ");
    }
}
END_TEST

START_TEST(decimal_numbers_are_read)
{
    struct arg_found found;

    ck_assert_int_eq(first("--temperature", "0.75", &found, NULL), ARGS_FOUND);
    ck_assert_double_eq(found.real, 0.75);
    ck_assert_int_eq(first("--temperature=-1e-3", NULL, &found, NULL), ARGS_FOUND);
    ck_assert_double_eq(found.real, -1e-3);
}
END_TEST

START_TEST(bad_decimal_numbers_are_refused)
{
    const char *bad[] = { "", "nan", "inf", "0x1p3", " 1", "1,5", "1e999", "--", "e" };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_bad("--temperature", bad[i], "not a decimal number");
    }
}
END_TEST

START_TEST(choice_is_one_whole_word_of_its_list)
{
    struct arg_found found;

    ck_assert_int_eq(first("--class", "interactive", &found, NULL), ARGS_FOUND);
    ck_assert_str_eq(found.text, "interactive");
    assert_bad("--class", "inter", "not one of realtime|interactive|background");
    assert_bad("--class", "", "not one of");
    assert_bad("--class", "realtime|interactive", "not one of");
}
END_TEST

START_TEST(unknown_option_is_named)
{
    assert_bad("--max-token=3", NULL, "unknown option --max-token;");
    assert_bad("-x", NULL, "unknown option -x;");
    assert_bad("-nn", NULL, "unknown option -nn;");
}
END_TEST

START_TEST(missing_value_and_value_of_a_flag_are_told)
{
    assert_bad("--max-tokens", NULL, "needs a value: --max-tokens N");
    assert_bad("--class", NULL, "needs a value");
    assert_bad("--raw=yes", NULL, "takes no value");
}
END_TEST

START_TEST(two_dashes_end_the_options)
{
    char dash[] = "-";
    char dashes[] = "--";
    char raw[] = "--raw";
    char *argv[] = { raw, dash, dashes, raw, dashes };
    struct args args;
    struct arg_found found;

    args_init(&args, rows, 5, argv);

    ck_assert_int_eq(args_next(&args, &found, NULL), ARGS_FOUND);
    ck_assert_int_eq(found.row, ROW_RAW);
    ck_assert_int_eq(args_next(&args, &found, NULL), ARGS_FOUND);
    ck_assert_int_eq(found.row, -1);
    ck_assert_str_eq(found.text, "-");
    ck_assert_int_eq(args_next(&args, &found, NULL), ARGS_FOUND);
    ck_assert_int_eq(found.row, -1);
    ck_assert_str_eq(found.text, "--raw");
    ck_assert_int_eq(args_next(&args, &found, NULL), ARGS_FOUND);
    ck_assert_str_eq(found.text, "--");
    ck_assert_int_eq(args_next(&args, &found, NULL), ARGS_END);
}
END_TEST

START_TEST(help_names_each_option_with_its_sentence)
{
    char page[2000] = "";
    FILE *out = fmemopen(page, sizeof(page), "w");

    args_help(rows, out);
    fclose(out);

    ck_assert_ptr_nonnull(strstr(page, "  -n, --max-tokens N          Stop after N tokens.\n"));
    ck_assert_ptr_nonnull(strstr(page, "      --raw                   Text as it is.\n"));
    ck_assert_ptr_nonnull(strstr(page, "--class realtime|interactive|background\n                              Class"));
}
END_TEST

int main(void)
{
    return unit_facts("args", no_words_are_the_end, value_may_follow_or_be_joined,
                      text_may_be_empty_or_look_like_an_option, largest_number_is_2_to_the_64_less_1,
                      bad_whole_numbers_are_refused, decimal_numbers_are_read, bad_decimal_numbers_are_refused,
                      choice_is_one_whole_word_of_its_list, unknown_option_is_named,
                      missing_value_and_value_of_a_flag_are_told, two_dashes_end_the_options,
                      help_names_each_option_with_its_sentence);
}
