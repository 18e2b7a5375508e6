#include "plant/engine_mail.h"
#include "base/mem.h"
#include <assert.h>

void engine_mail_init(struct engine_mail *mail, struct timeline *timeline, uint64_t latency_ns, timeline_fn on_due,
                      void *owner)
{
    *mail = (struct engine_mail){ .timeline = timeline, .latency_ns = latency_ns };
    timeline_event_init(&mail->due, on_due, owner);
}

void engine_mail_post(struct engine_mail *mail, const struct engine_message *message)
{
    struct engine_message *copy = mem_alloc(MEM_MISC, sizeof(*copy));

    assert(copy);
    *copy = *message;
    copy->next = NULL;
    copy->at_ns = mail->timeline->now_ns + mail->latency_ns;
    if (mail->last) {
        mail->last->next = copy;
    } else {
        mail->first = copy;
        timeline_enter(mail->timeline, &mail->due, copy->at_ns);
    }
    mail->last = copy;
}

struct engine_message *engine_mail_collect(struct engine_mail *mail)
{
    struct engine_message *message = mail->first;

    mail->first = message->next;
    if (mail->first) {
        timeline_enter(mail->timeline, &mail->due, mail->first->at_ns);
    } else {
        mail->last = NULL;
    }
    return message;
}

void engine_mail_free(struct engine_message *message)
{
    mem_free(message->work);
    mem_free(message);
}

void engine_mail_discard(struct engine_mail *mail)
{
    timeline_cancel(mail->timeline, &mail->due);
    while (mail->first) {
        struct engine_message *message = mail->first;

        mail->first = message->next;
        engine_mail_free(message);
    }
    mail->last = NULL;
}
