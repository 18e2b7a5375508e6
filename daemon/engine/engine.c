#include "engine/engine.h"

#include "base/clean.h"
#include "base/log.h"
#include <fcntl.h>
#include <stdio.h>

/* Sends a line of the log to sottod, which knows the engine's model. */
static void send_line(void *owner, enum log_level level, const char *line)
{
    struct link *link = owner;
    Sotto__Engine__Log log = SOTTO__ENGINE__LOG__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    char text[512];

    snprintf(text, sizeof(text), "%s", line);
    log.level = level;
    log.line = text;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_LOG;
    message.log = &log;
    link_send(link, &message);
}

static void serve(struct engine *engine)
{
    Sotto__Engine__ToEngine *order;
    struct diag diag = DIAG_INIT;
    int r;

    while (engine->end == ENGINE_GOES_ON) {
        r = link_take(&engine->link, &order, &diag);
        if (r == LINK_OK) {
            engine_obey(engine, order);
        } else if (r == LINK_END) {
            engine->end = ENGINE_QUIT;
        } else if (r == LINK_BAD) {
            engine_fault(engine, false, diag.text);
        } else {
            engine_fault_of(engine, "orders could not be read", r);
        }
    }
}

int engine_run(int fd, void (*narrow)(void))
{
    struct engine engine = { .narrow = narrow, .fd_memory = -1 };
    int r;

    r = link_open(&engine.link, fd);
    if (r) {
        return 1;
    }
    log_to(send_line, &engine.link);
    engine.fd_memory = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    serve(&engine);

    log_to(NULL, NULL);
    model_closep(&engine.model);
    step_reply_finish(&engine.step_reply);
    seq_table_finish(&engine.seq_table);
    mem_free(engine.entries);
    fd_closep(&engine.fd_memory);
    link_close(&engine.link);
    return engine.end == ENGINE_QUIT ? 0 : 1;
}
