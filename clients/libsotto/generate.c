/*
 * Generate: filling a request
 *
 * The wire's own struct is filled in place; what it points to belongs to the request. A setter that finds no memory
 * sets @starved, and the sending refuses.
 */
#include "base/clean.h"
#include "clients/libsotto/handle.h"

struct sotto_generate {
    Sotto__V1__Generate wire;
    Sotto__V1__Sampling sampling;
    Sotto__V1__TokenIds tokens;
    Sotto__V1__Chat chat;
    ProtobufCBinaryData text; /* kept here: in @wire it shares its place with @tokens and @chat */
    bool has_sampling;
    bool starved;
};

struct sotto_generate *sotto_generate_create(void)
{
    struct sotto_generate *ask = mem_calloc(MEM_WIRE, 1, sizeof(*ask));

    if (!ask) {
        return NULL;
    }
    sotto__v1__generate__init(&ask->wire);
    sotto__v1__sampling__init(&ask->sampling);
    sotto__v1__token_ids__init(&ask->tokens);
    sotto__v1__chat__init(&ask->chat);
    return ask;
}

/* An empty string of protobuf-c is static. */
static void free_string(char *string)
{
    if (string && *string) {
        mem_free(string);
    }
}

static void free_messages(Sotto__V1__Chat *chat)
{
    for (size_t i = 0; i < chat->n_messages; i++) {
        free_string(chat->messages[i]->role);
        mem_free(chat->messages[i]->content.data);
        mem_free(chat->messages[i]->fields.data);
        mem_free(chat->messages[i]);
    }
    mem_free(chat->messages);
    chat->messages = NULL;
    chat->n_messages = 0;
    for (size_t i = 0; i < chat->n_tools; i++) {
        mem_free(chat->tools[i].data);
    }
    mem_free(chat->tools);
    mem_free(chat->variables.data);
}

void sotto_generate_destroy(struct sotto_generate *ask)
{
    if (!ask) {
        return;
    }
    free_string(ask->wire.model);
    free_string(ask->wire.key);
    for (size_t i = 0; i < ask->wire.n_stop; i++) {
        mem_free(ask->wire.stop[i].data);
    }
    mem_free(ask->wire.stop);
    for (size_t i = 0; i < ask->sampling.n_bias; i++) {
        mem_free(ask->sampling.bias[i]);
    }
    mem_free(ask->sampling.bias);
    mem_free(ask->tokens.ids);
    mem_free(ask->text.data);
    free_messages(&ask->chat);
    mem_free(ask);
}

/* Copies. On failure the slot stays as it was. */

static void put_string(struct sotto_generate *ask, char **slot, const char *from)
{
    char *copy = (char *)protobuf_c_empty_string;

    if (from && *from) {
        copy = mem_strndup(MEM_WIRE, from, strlen(from));
        if (!copy) {
            ask->starved = true;
            return;
        }
    }
    free_string(*slot);
    *slot = copy;
}

static bool put_bytes(struct sotto_generate *ask, ProtobufCBinaryData *slot, const char *from, size_t n)
{
    char *copy = mem_strndup(MEM_WIRE, from ? from : "", from ? n : 0);

    if (!copy) {
        ask->starved = true;
        return false;
    }
    mem_free(slot->data);
    slot->data = (uint8_t *)copy;
    slot->len = from ? n : 0;
    return true;
}

/* Room for one more at the end of the array at @slot, or NULL. */
static void *grow(struct sotto_generate *ask, void *slot, size_t n, size_t size)
{
    void *old;
    void *new;

    memcpy(&old, slot, sizeof(old));
    new = mem_realloc(MEM_WIRE, old, (n + 1) * size);
    if (!new) {
        ask->starved = true;
        return NULL;
    }
    memcpy(slot, &new, sizeof(new));
    return (char *)new + n *size;
}

void sotto_generate_set_model(struct sotto_generate *ask, const char *name)
{
    put_string(ask, &ask->wire.model, name);
}

void sotto_generate_set_key(struct sotto_generate *ask, const char *key)
{
    put_string(ask, &ask->wire.key, key);
}

void sotto_generate_set_text(struct sotto_generate *ask, const char *text, size_t n)
{
    if (put_bytes(ask, &ask->text, text, n)) {
        ask->wire.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    }
}

void sotto_generate_set_tokens(struct sotto_generate *ask, const uint32_t *ids, size_t n)
{
    uint32_t *copy = mem_calloc(MEM_WIRE, n, sizeof(*ids));

    if (!copy) {
        ask->starved = true;
        return;
    }
    if (n) {
        memcpy(copy, ids, n * sizeof(*ids));
    }
    mem_free(ask->tokens.ids);
    ask->tokens.ids = copy;
    ask->tokens.n_ids = n;
    ask->wire.input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
}

static void free_messagep(Sotto__V1__ChatMessage **message)
{
    if (*message) {
        free_string((*message)->role);
        mem_free((*message)->content.data);
        mem_free(*message);
    }
}

void sotto_generate_add_message(struct sotto_generate *ask, const char *role, const char *text, size_t n)
{
    cleanup(free_messagep) Sotto__V1__ChatMessage *message = mem_alloc(MEM_WIRE, sizeof(*message));
    Sotto__V1__ChatMessage **room;

    if (!message) {
        ask->starved = true;
        return;
    }
    sotto__v1__chat_message__init(message);
    put_string(ask, &message->role, role);
    room = grow(ask, &ask->chat.messages, ask->chat.n_messages, sizeof(*ask->chat.messages));
    if (!put_bytes(ask, &message->content, text, n) || !room) {
        return;
    }
    *room = steal(&message);
    ask->chat.n_messages++;
    ask->wire.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
}

void sotto_generate_set_message_fields(struct sotto_generate *ask, const char *json, size_t n)
{
    if (ask->chat.n_messages > 0) {
        put_bytes(ask, &ask->chat.messages[ask->chat.n_messages - 1]->fields, json, n);
    }
}

void sotto_generate_add_tool(struct sotto_generate *ask, const char *json, size_t n)
{
    ProtobufCBinaryData *room = grow(ask, &ask->chat.tools, ask->chat.n_tools, sizeof(*ask->chat.tools));

    if (!room) {
        return;
    }
    *room = (ProtobufCBinaryData){ .len = 0 };
    if (put_bytes(ask, room, json, n)) {
        ask->chat.n_tools++;
    }
}

void sotto_generate_set_variables(struct sotto_generate *ask, const char *json, size_t n)
{
    put_bytes(ask, &ask->chat.variables, json, n);
}

void sotto_generate_set_temperature(struct sotto_generate *ask, float temperature)
{
    ask->sampling.opt_temperature_case = SOTTO__V1__SAMPLING__OPT_TEMPERATURE_TEMPERATURE;
    ask->sampling.temperature = temperature;
    ask->has_sampling = true;
}

void sotto_generate_set_top_k(struct sotto_generate *ask, uint32_t top_k)
{
    ask->sampling.opt_top_k_case = SOTTO__V1__SAMPLING__OPT_TOP_K_TOP_K;
    ask->sampling.top_k = top_k;
    ask->has_sampling = true;
}

void sotto_generate_set_top_p(struct sotto_generate *ask, float top_p)
{
    ask->sampling.opt_top_p_case = SOTTO__V1__SAMPLING__OPT_TOP_P_TOP_P;
    ask->sampling.top_p = top_p;
    ask->has_sampling = true;
}

void sotto_generate_set_min_p(struct sotto_generate *ask, float min_p)
{
    ask->sampling.opt_min_p_case = SOTTO__V1__SAMPLING__OPT_MIN_P_MIN_P;
    ask->sampling.min_p = min_p;
    ask->has_sampling = true;
}

void sotto_generate_set_seed(struct sotto_generate *ask, uint64_t seed)
{
    ask->sampling.opt_seed_case = SOTTO__V1__SAMPLING__OPT_SEED_SEED;
    ask->sampling.seed = seed;
    ask->has_sampling = true;
}

void sotto_generate_set_repetition_penalty(struct sotto_generate *ask, float penalty)
{
    ask->sampling.opt_repetition_penalty_case = SOTTO__V1__SAMPLING__OPT_REPETITION_PENALTY_REPETITION_PENALTY;
    ask->sampling.repetition_penalty = penalty;
    ask->has_sampling = true;
}

void sotto_generate_set_frequency_penalty(struct sotto_generate *ask, float penalty)
{
    ask->sampling.opt_frequency_penalty_case = SOTTO__V1__SAMPLING__OPT_FREQUENCY_PENALTY_FREQUENCY_PENALTY;
    ask->sampling.frequency_penalty = penalty;
    ask->has_sampling = true;
}

void sotto_generate_set_presence_penalty(struct sotto_generate *ask, float penalty)
{
    ask->sampling.opt_presence_penalty_case = SOTTO__V1__SAMPLING__OPT_PRESENCE_PENALTY_PRESENCE_PENALTY;
    ask->sampling.presence_penalty = penalty;
    ask->has_sampling = true;
}

void sotto_generate_set_penalty_window(struct sotto_generate *ask, uint32_t tokens)
{
    ask->sampling.opt_penalty_window_case = SOTTO__V1__SAMPLING__OPT_PENALTY_WINDOW_PENALTY_WINDOW;
    ask->sampling.penalty_window = tokens;
    ask->has_sampling = true;
}

void sotto_generate_add_bias(struct sotto_generate *ask, uint32_t id, float bias)
{
    cleanup(mem_freep) Sotto__V1__LogitBias *one = mem_alloc(MEM_WIRE, sizeof(*one));
    Sotto__V1__LogitBias **room = grow(ask, &ask->sampling.bias, ask->sampling.n_bias, sizeof(*ask->sampling.bias));

    if (!one || !room) {
        ask->starved = true;
        return;
    }
    sotto__v1__logit_bias__init(one);
    one->id = id;
    one->bias = bias;
    *room = steal(&one);
    ask->sampling.n_bias++;
    ask->has_sampling = true;
}

void sotto_generate_set_logprobs(struct sotto_generate *ask, uint32_t n_top)
{
    ask->sampling.logprobs = true;
    ask->sampling.top_logprobs = n_top;
    ask->has_sampling = true;
}

void sotto_generate_set_max_tokens(struct sotto_generate *ask, uint32_t tokens)
{
    ask->wire.opt_max_tokens_case = SOTTO__V1__GENERATE__OPT_MAX_TOKENS_MAX_TOKENS;
    ask->wire.max_tokens = tokens;
}

void sotto_generate_add_stop(struct sotto_generate *ask, const char *text, size_t n)
{
    ProtobufCBinaryData stop = { .len = 0 };
    ProtobufCBinaryData *room = grow(ask, &ask->wire.stop, ask->wire.n_stop, sizeof(*ask->wire.stop));

    if (room && put_bytes(ask, &stop, text, n)) {
        *room = stop;
        ask->wire.n_stop++;
    }
}

void sotto_generate_set_class(struct sotto_generate *ask, enum sotto_class priority)
{
    ask->wire.priority = (Sotto__V1__PriorityClass)priority;
}

void sotto_generate_set_credit(struct sotto_generate *ask, uint32_t tokens)
{
    ask->wire.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    ask->wire.credit = tokens;
}

void sotto_generate_set_first_token_by(struct sotto_generate *ask, uint32_t ms)
{
    ask->wire.opt_first_token_by_ms_case = SOTTO__V1__GENERATE__OPT_FIRST_TOKEN_BY_MS_FIRST_TOKEN_BY_MS;
    ask->wire.first_token_by_ms = ms;
}

void sotto_generate_set_finish_by(struct sotto_generate *ask, uint32_t ms)
{
    ask->wire.opt_finish_by_ms_case = SOTTO__V1__GENERATE__OPT_FINISH_BY_MS_FINISH_BY_MS;
    ask->wire.finish_by_ms = ms;
}

void sotto_generate_set_slide(struct sotto_generate *ask, uint32_t keep)
{
    ask->wire.on_full = SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
    ask->wire.opt_keep_tokens_case = SOTTO__V1__GENERATE__OPT_KEEP_TOKENS_KEEP_TOKENS;
    ask->wire.keep_tokens = keep;
}

void sotto_generate_set_ignore_end(struct sotto_generate *ask, bool ignore)
{
    ask->wire.ignore_end = ignore;
}

void sotto_generate_set_session(struct sotto_generate *ask, uint64_t session)
{
    ask->wire.session = session;
}

/* The three inputs share one place on the wire: put the one that holds there. */
bool generate_assemble(const struct sotto_generate *ask, Sotto__V1__Generate *ret_wire)
{
    Sotto__V1__Generate wire = ask->wire;

    if (ask->has_sampling) {
        wire.sampling = (Sotto__V1__Sampling *)&ask->sampling;
    }
    if (wire.input_case == SOTTO__V1__GENERATE__INPUT_TEXT) {
        wire.text = ask->text;
    } else if (wire.input_case == SOTTO__V1__GENERATE__INPUT_TOKENS) {
        wire.tokens = (Sotto__V1__TokenIds *)&ask->tokens;
    } else if (wire.input_case == SOTTO__V1__GENERATE__INPUT_CHAT) {
        wire.chat = (Sotto__V1__Chat *)&ask->chat;
    }
    *ret_wire = wire;
    return !ask->starved;
}

enum sotto_code sotto_send_generate(struct sotto *sotto, const struct sotto_generate *ask, sotto_event_fn fn,
                                    void *owner, uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;
    Sotto__V1__Generate generate;

    if (!generate_assemble(ask, &generate)) {
        return error_no_memory(error);
    }
    frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_GENERATE;
    frame.generate = &generate;
    return call_open(sotto, &frame, fn, owner, ret_stream, error);
}
