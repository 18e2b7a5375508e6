/* Send: messages to sottod, and the end of the engine when they fail */
#include "engine/engine.h"

#include "base/err.h"
#include <stdio.h>
#include <string.h>

void engine_send(struct engine *engine, const Sotto__Engine__FromEngine *message)
{
    int r = link_send(&engine->link, message);

    if (r == LINK_END) {
        engine->end = ENGINE_QUIT;
    } else if (r < 0) {
        engine->end = ENGINE_FAULTED;
    }
}

void engine_fault(struct engine *engine, bool hopeless, const char *what)
{
    Sotto__Engine__Fault fault = SOTTO__ENGINE__FAULT__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    struct diag clean = DIAG_INIT;

    diag_set(&clean, "%s", what);
    fault.what = clean.text;
    fault.hopeless = hopeless;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_FAULT;
    message.fault = &fault;
    link_send(&engine->link, &message);
    engine->end = ENGINE_FAULTED;
}

void engine_fault_of(struct engine *engine, const char *what, int fault)
{
    char trail[128];
    char text[320];

    snprintf(text, sizeof(text), "%s: %s (%s)", what, strerrordesc_np(-fault), err_trail(trail, sizeof(trail)));
    engine_fault(engine, false, text);
}
