/* When the vocabulary of a model is read, and what is said if it can't be used. */
#include "hub_fixture.h"
#include "registry/instance.h"
#include "stream/client.h"
#include <stdio.h>
#include <string.h>

static struct fixture fixture;

static void begin_cold(const char *script)
{
    fixture_prepare(&fixture, script);
    fixture.settings.load_at_start = false;
    fixture_open(&fixture);
}

static bool has_vocabulary(void *owner)
{
    const struct list *list = owner;

    return !list_is_empty(list) && container_of(list->next, struct instance, link)->vocab;
}

START_TEST(it_is_read_while_the_engine_loads)
{
    struct client client;

    begin_cold("load do stall 60000\n");
    client_init(&client, 1, 4, 5);
    client_generate(&fixture, &client);
    fixture_until(&fixture, has_vocabulary, &fixture_model(&fixture)->instances);

    ck_assert_int_eq(model_entry_state(fixture_model(&fixture)), SOTTO__V1__MODEL_STATE__MODEL_LOADING);
    stream_cancel(client.stream);
    client_until_over(&fixture, &client);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

/* Renames the kind of the vocabulary: the file stays one that an engine may accept. */
static void spoil_model(void)
{
    FILE *file = fopen(fixture.model, "r+");
    char bytes[4096];
    size_t n = fread(bytes, 1, sizeof(bytes), file);
    const char *kind = memmem(bytes, n, "gpt2", 4);

    ck_assert_ptr_nonnull(kind);
    fseek(file, kind - bytes, SEEK_SET);
    fwrite("gpt9", 1, 4, file);
    fclose(file);
}

START_TEST(a_vocabulary_that_is_refused_fails_the_model_when_the_engine_is_ready)
{
    struct client client;

    begin_cold("load do slow 200\n");
    spoil_model();
    client_init(&client, 1, 4, 5);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "of kind \"gpt9\" are not supported");
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

START_TEST(the_word_of_the_engine_counts_before_that_of_the_vocabulary)
{
    struct client client;

    begin_cold("load do hopeless tensor blk.0 is missing\n");
    spoil_model();
    client_init(&client, 1, 4, 5);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "tensor blk.0 is missing");
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

int main(void)
{
    return unit_facts("registry-vocabulary", it_is_read_while_the_engine_loads,
                      a_vocabulary_that_is_refused_fails_the_model_when_the_engine_is_ready,
                      the_word_of_the_engine_counts_before_that_of_the_vocabulary);
}
