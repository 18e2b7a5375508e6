/*
 * Tiny: the smallest complete client
 *
 *     tiny [--tokens] SOCKET [MODEL] PROMPT
 *
 * Streams the likeliest continuation of PROMPT, as text or as one token id on a line. It is the introduction to
 * libsotto: connect, send a request, and take events until the last; every failure comes as a sentence.
 */
#include <sotto.h>
#include <stdio.h>
#include <string.h>

static void show(const struct sotto_delta *delta, bool as_tokens)
{
    if (!as_tokens) {
        fwrite(delta->text, 1, delta->n_text, stdout);
    }
    for (size_t i = 0; as_tokens && i < delta->n_tokens; i++) {
        printf("%u\n", delta->tokens[i]);
    }
    fflush(stdout);
}

static enum sotto_code stream(struct sotto *sotto, const struct sotto_generate *request, bool as_tokens,
                              struct sotto_error *error)
{
    const struct sotto_event *event = NULL;
    uint32_t id = 0;
    enum sotto_code code = sotto_send_generate(sotto, request, NULL, NULL, &id, error);

    while (code == SOTTO_OK && !(event && event->last)) {
        code = sotto_next(sotto, id, &event, error);
        if (code == SOTTO_OK && event && event->kind == SOTTO_EVENT_DELTA) {
            show(event->delta, as_tokens);
        }
    }
    return code;
}

int main(int argc, char **argv)
{
    bool as_tokens = argc > 1 && strcmp(argv[1], "--tokens") == 0;
    char **words = argv + 1 + as_tokens;
    int n_words = argc - 1 - as_tokens;
    struct sotto_generate *request = sotto_generate_create();
    struct sotto *sotto = NULL;
    struct sotto_error error;
    enum sotto_code code;

    if (!request || n_words < 2 || n_words > 3) {
        fprintf(stderr, "usage: tiny [--tokens] SOCKET [MODEL] PROMPT\n");
        sotto_generate_destroy(request);
        return 2;
    }
    sotto_generate_set_model(request, n_words == 3 ? words[1] : NULL);
    sotto_generate_set_text(request, words[n_words - 1], strlen(words[n_words - 1]));
    sotto_generate_set_temperature(request, 0);
    code = sotto_open(&sotto, words[0], "tiny/1", &error);
    if (code == SOTTO_OK) {
        code = stream(sotto, request, as_tokens, &error);
    }
    if (code) {
        fprintf(stderr, "tiny: %s\n", error.message);
    }
    sotto_close(sotto);
    sotto_generate_destroy(request);
    return code ? 1 : 0;
}
