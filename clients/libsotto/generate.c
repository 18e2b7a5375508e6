/*
 * Generate: filling a request for an answer
 *
 * The protocol's own struct is filled in place; what it points to belongs to the request. A setter that finds no memory
 * sets @starved, and the sending refuses.
 */
#include "base/clean.h"
#include "clients/libsotto/handle.h"

struct sotto_generate {
    Sotto__V1__Generate wire;
    Sotto__V1__Sampling sampling;
    Sotto__V1__TokenIds tokens;
    Sotto__V1__Chat chat;
    ProtobufCBinaryData text; /* here, since in @wire it shares its memory with @tokens and @chat */
    bool starved;
};

struct sotto_generate *sotto_generate_create(void)
{
    struct sotto_generate *request = mem_calloc(MEM_WIRE, 1, sizeof(*request));

    if (!request) {
        return NULL;
    }
    sotto__v1__generate__init(&request->wire);
    sotto__v1__sampling__init(&request->sampling);
    sotto__v1__token_ids__init(&request->tokens);
    sotto__v1__chat__init(&request->chat);
    return request;
}

/* Frees a string, unless it is the empty one of protobuf-c, which is static. */
static void free_string(char *string)
{
    if (string && *string) {
        mem_free(string);
    }
}

static void free_messagep(Sotto__V1__ChatMessage **message)
{
    if (*message) {
        free_string((*message)->role);
        mem_free((*message)->content.data);
        mem_free((*message)->fields.data);
        mem_free(*message);
    }
}

/* Frees an array of texts. */
static void free_texts(ProtobufCBinaryData *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mem_free(texts[i].data);
    }
    mem_free(texts);
}

void sotto_generate_destroy(struct sotto_generate *request)
{
    if (!request) {
        return;
    }
    free_string(request->wire.model);
    free_string(request->wire.key);
    free_texts(request->wire.stop, request->wire.n_stop);
    for (size_t i = 0; i < request->sampling.n_bias; i++) {
        mem_free(request->sampling.bias[i]);
    }
    mem_free(request->sampling.bias);
    mem_free(request->tokens.ids);
    mem_free(request->text.data);
    for (size_t i = 0; i < request->chat.n_messages; i++) {
        free_messagep(&request->chat.messages[i]);
    }
    mem_free(request->chat.messages);
    free_texts(request->chat.tools, request->chat.n_tools);
    mem_free(request->chat.variables.data);
    mem_free(request);
}

/* Puts a copy of @from into *slot, which stays as it was if memory is short. */
static void put_string(struct sotto_generate *request, char **slot, const char *from)
{
    char *copy = (char *)protobuf_c_empty_string;

    if (from && *from) {
        copy = mem_strndup(MEM_WIRE, from, strlen(from));
        if (!copy) {
            request->starved = true;
            return;
        }
    }
    free_string(*slot);
    *slot = copy;
}

/* Puts a copy of the @n bytes at @from (NULL: none) into @slot. False: memory is short, and nothing has changed. */
static bool put_bytes(struct sotto_generate *request, ProtobufCBinaryData *slot, const char *from, size_t n)
{
    char *copy = mem_strndup(MEM_WIRE, from ? from : "", from ? n : 0);

    if (!copy) {
        request->starved = true;
        return false;
    }
    mem_free(slot->data);
    slot->data = (uint8_t *)copy;
    slot->len = from ? n : 0;
    return true;
}

/* Makes room for one more element of @size behind the @n of the array at @slot. Returns its place, or NULL. */
static void *grow(struct sotto_generate *request, void *slot, size_t n, size_t size)
{
    void *old;
    void *new;

    memcpy(&old, slot, sizeof(old));
    new = mem_realloc(MEM_WIRE, old, (n + 1) * size);
    if (!new) {
        request->starved = true;
        return NULL;
    }
    memcpy(slot, &new, sizeof(new));
    return (char *)new + n *size;
}

void sotto_generate_set_model(struct sotto_generate *request, const char *name)
{
    put_string(request, &request->wire.model, name);
}

void sotto_generate_set_key(struct sotto_generate *request, const char *key)
{
    put_string(request, &request->wire.key, key);
}

void sotto_generate_set_text(struct sotto_generate *request, const char *text, size_t n)
{
    if (put_bytes(request, &request->text, text, n)) {
        request->wire.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    }
}

void sotto_generate_set_tokens(struct sotto_generate *request, const uint32_t *ids, size_t n)
{
    uint32_t *copy = mem_calloc(MEM_WIRE, n, sizeof(*ids));

    if (!copy) {
        request->starved = true;
        return;
    }
    if (n) {
        memcpy(copy, ids, n * sizeof(*ids));
    }
    mem_free(request->tokens.ids);
    request->tokens.ids = copy;
    request->tokens.n_ids = n;
    request->wire.input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
}

void sotto_generate_add_message(struct sotto_generate *request, const char *role, const char *text, size_t n)
{
    cleanup(free_messagep) Sotto__V1__ChatMessage *message = mem_alloc(MEM_WIRE, sizeof(*message));
    Sotto__V1__ChatMessage **room;

    if (!message) {
        request->starved = true;
        return;
    }
    sotto__v1__chat_message__init(message);
    put_string(request, &message->role, role);
    room = grow(request, &request->chat.messages, request->chat.n_messages, sizeof(*request->chat.messages));
    if (!put_bytes(request, &message->content, text, n) || !room) {
        return;
    }
    *room = steal(&message);
    request->chat.n_messages++;
    request->wire.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
}

void sotto_generate_set_message_fields(struct sotto_generate *request, const char *json, size_t n)
{
    if (request->chat.n_messages > 0) {
        put_bytes(request, &request->chat.messages[request->chat.n_messages - 1]->fields, json, n);
    }
}

/* Adds a text to the array at @slot, which has @n of them. */
static void add_text(struct sotto_generate *request, ProtobufCBinaryData **slot, size_t *n, const char *from,
                     size_t n_bytes)
{
    ProtobufCBinaryData *room = grow(request, slot, *n, sizeof(**slot));
    ProtobufCBinaryData text = { .len = 0 };

    if (room && put_bytes(request, &text, from, n_bytes)) {
        *room = text;
        (*n)++;
    }
}

void sotto_generate_add_tool(struct sotto_generate *request, const char *json, size_t n)
{
    add_text(request, &request->chat.tools, &request->chat.n_tools, json, n);
}

void sotto_generate_add_stop(struct sotto_generate *request, const char *text, size_t n)
{
    add_text(request, &request->wire.stop, &request->wire.n_stop, text, n);
}

void sotto_generate_set_variables(struct sotto_generate *request, const char *json, size_t n)
{
    put_bytes(request, &request->chat.variables, json, n);
}

void sotto_generate_set_temperature(struct sotto_generate *request, float temperature)
{
    request->sampling.opt_temperature_case = SOTTO__V1__SAMPLING__OPT_TEMPERATURE_TEMPERATURE;
    request->sampling.temperature = temperature;
}

void sotto_generate_set_top_k(struct sotto_generate *request, uint32_t top_k)
{
    request->sampling.opt_top_k_case = SOTTO__V1__SAMPLING__OPT_TOP_K_TOP_K;
    request->sampling.top_k = top_k;
}

void sotto_generate_set_top_p(struct sotto_generate *request, float top_p)
{
    request->sampling.opt_top_p_case = SOTTO__V1__SAMPLING__OPT_TOP_P_TOP_P;
    request->sampling.top_p = top_p;
}

void sotto_generate_set_min_p(struct sotto_generate *request, float min_p)
{
    request->sampling.opt_min_p_case = SOTTO__V1__SAMPLING__OPT_MIN_P_MIN_P;
    request->sampling.min_p = min_p;
}

void sotto_generate_set_seed(struct sotto_generate *request, uint64_t seed)
{
    request->sampling.opt_seed_case = SOTTO__V1__SAMPLING__OPT_SEED_SEED;
    request->sampling.seed = seed;
}

void sotto_generate_set_repetition_penalty(struct sotto_generate *request, float penalty)
{
    request->sampling.opt_repetition_penalty_case = SOTTO__V1__SAMPLING__OPT_REPETITION_PENALTY_REPETITION_PENALTY;
    request->sampling.repetition_penalty = penalty;
}

void sotto_generate_set_frequency_penalty(struct sotto_generate *request, float penalty)
{
    request->sampling.opt_frequency_penalty_case = SOTTO__V1__SAMPLING__OPT_FREQUENCY_PENALTY_FREQUENCY_PENALTY;
    request->sampling.frequency_penalty = penalty;
}

void sotto_generate_set_presence_penalty(struct sotto_generate *request, float penalty)
{
    request->sampling.opt_presence_penalty_case = SOTTO__V1__SAMPLING__OPT_PRESENCE_PENALTY_PRESENCE_PENALTY;
    request->sampling.presence_penalty = penalty;
}

void sotto_generate_set_penalty_window(struct sotto_generate *request, uint32_t tokens)
{
    request->sampling.opt_penalty_window_case = SOTTO__V1__SAMPLING__OPT_PENALTY_WINDOW_PENALTY_WINDOW;
    request->sampling.penalty_window = tokens;
}

void sotto_generate_add_bias(struct sotto_generate *request, uint32_t id, float bias)
{
    cleanup(mem_freep) Sotto__V1__LogitBias *one = mem_alloc(MEM_WIRE, sizeof(*one));
    Sotto__V1__LogitBias **room =
        grow(request, &request->sampling.bias, request->sampling.n_bias, sizeof(*request->sampling.bias));

    if (!one || !room) {
        request->starved = true;
        return;
    }
    sotto__v1__logit_bias__init(one);
    one->id = id;
    one->bias = bias;
    *room = steal(&one);
    request->sampling.n_bias++;
}

void sotto_generate_set_logprobs(struct sotto_generate *request, uint32_t n_top)
{
    request->sampling.logprobs = true;
    request->sampling.top_logprobs = n_top;
}

void sotto_generate_set_max_tokens(struct sotto_generate *request, uint32_t tokens)
{
    request->wire.opt_max_tokens_case = SOTTO__V1__GENERATE__OPT_MAX_TOKENS_MAX_TOKENS;
    request->wire.max_tokens = tokens;
}

void sotto_generate_set_class(struct sotto_generate *request, enum sotto_class priority)
{
    request->wire.priority = (Sotto__V1__PriorityClass)priority;
}

void sotto_generate_set_credit(struct sotto_generate *request, uint32_t tokens)
{
    request->wire.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    request->wire.credit = tokens;
}

void sotto_generate_set_first_token_by(struct sotto_generate *request, uint32_t ms)
{
    request->wire.opt_first_token_by_ms_case = SOTTO__V1__GENERATE__OPT_FIRST_TOKEN_BY_MS_FIRST_TOKEN_BY_MS;
    request->wire.first_token_by_ms = ms;
}

void sotto_generate_set_finish_by(struct sotto_generate *request, uint32_t ms)
{
    request->wire.opt_finish_by_ms_case = SOTTO__V1__GENERATE__OPT_FINISH_BY_MS_FINISH_BY_MS;
    request->wire.finish_by_ms = ms;
}

void sotto_generate_set_slide(struct sotto_generate *request, uint32_t keep)
{
    request->wire.on_full = SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
    request->wire.opt_keep_tokens_case = SOTTO__V1__GENERATE__OPT_KEEP_TOKENS_KEEP_TOKENS;
    request->wire.keep_tokens = keep;
}

void sotto_generate_set_ignore_end(struct sotto_generate *request, bool ignore)
{
    request->wire.ignore_end = ignore;
}

void sotto_generate_set_session(struct sotto_generate *request, uint64_t session)
{
    request->wire.session = session;
}

/* The three inputs share their memory in the message: the one that counts is put there. Sampling is sent if any field
 * of it is set. */
bool generate_assemble(const struct sotto_generate *request, Sotto__V1__Generate *ret_wire)
{
    Sotto__V1__Generate wire = request->wire;

    if (sotto__v1__sampling__get_packed_size(&request->sampling) > 0) {
        wire.sampling = wire_message(&request->sampling);
    }
    if (wire.input_case == SOTTO__V1__GENERATE__INPUT_TEXT) {
        wire.text = request->text;
    } else if (wire.input_case == SOTTO__V1__GENERATE__INPUT_TOKENS) {
        wire.tokens = wire_message(&request->tokens);
    } else if (wire.input_case == SOTTO__V1__GENERATE__INPUT_CHAT) {
        wire.chat = wire_message(&request->chat);
    }
    *ret_wire = wire;
    return !request->starved;
}

enum sotto_code sotto_send_generate(struct sotto *sotto, const struct sotto_generate *request, sotto_event_fn fn,
                                    void *owner, uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__Generate generate;

    if (!generate_assemble(request, &generate)) {
        return error_no_memory(error);
    }
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_GENERATE, &generate, fn, owner, ret_stream, error);
}
