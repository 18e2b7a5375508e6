/*
 * Session: opening and closing a conversation that the daemon keeps
 */
#include "clients/libsotto/handle.h"

/* Fills @open with the prompt, model, class and slide of @from. */
static void take_beginning(Sotto__V1__OpenSession *open, const Sotto__V1__Generate *from)
{
    open->model = from->model;
    open->priority = from->priority;
    open->on_full = from->on_full;
    switch (from->input_case) {
    case SOTTO__V1__GENERATE__INPUT_TOKENS:
        open->input_case = SOTTO__V1__OPEN_SESSION__INPUT_TOKENS;
        open->tokens = from->tokens;
        break;
    case SOTTO__V1__GENERATE__INPUT_TEXT:
        open->input_case = SOTTO__V1__OPEN_SESSION__INPUT_TEXT;
        open->text = from->text;
        break;
    case SOTTO__V1__GENERATE__INPUT_CHAT:
        open->input_case = SOTTO__V1__OPEN_SESSION__INPUT_CHAT;
        open->chat = from->chat;
        break;
    case SOTTO__V1__GENERATE__INPUT__NOT_SET:
        break;
    }
}

enum sotto_code sotto_send_session_open(struct sotto *sotto, const struct sotto_generate *begin, uint32_t idle_ms,
                                        sotto_event_fn fn, void *owner, uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__OpenSession open = SOTTO__V1__OPEN_SESSION__INIT;
    Sotto__V1__Generate from;

    if (begin && !generate_assemble(begin, &from)) {
        return error_no_memory(error);
    }
    if (begin) {
        take_beginning(&open, &from);
    }
    if (idle_ms) {
        open.opt_idle_ms_case = SOTTO__V1__OPEN_SESSION__OPT_IDLE_MS_IDLE_MS;
        open.idle_ms = idle_ms;
    }
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_OPEN_SESSION, &open, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_session_close(struct sotto *sotto, uint64_t session, sotto_event_fn fn, void *owner,
                                         uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__CloseSession close = SOTTO__V1__CLOSE_SESSION__INIT;

    close.session = session;
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_CLOSE_SESSION, &close, fn, owner, ret_stream, error);
}
