#include "model/pin.h"
#include "base/clean.h"
#include "base/err.h"
#include "model/prefix.h"
#include "model/private.h"
#include <errno.h>

struct pin {
    struct list link; /* model::pins */
    uint32_t id;
    struct kv_pages pages; /* in the chain, all of them */
};

static struct pin *find(const struct model *model, uint32_t id)
{
    struct list *link;

    list_for_each (link, &model->pins) {
        struct pin *pin = container_of(link, struct pin, link);

        if (pin->id == id) {
            return pin;
        }
    }
    return NULL;
}

int pin_keep(struct model *model, uint32_t id, uint32_t seq_id)
{
    struct seq *seq = seq_find(model, seq_id);
    struct pin *pin;

    if (!seq) {
        return err_new(-ENOENT);
    }
    if (seq->is_in_step || find(model, id)) {
        return err_new(seq->is_in_step ? -EBUSY : -EEXIST);
    }
    if (!seq->domain) {
        return PIN_UNSUPPORTED;
    }
    if (seq->n_done < seq->n_prompt) {
        return PIN_UNFINISHED;
    }
    pin = mem_calloc(MEM_KV, 1, sizeof(*pin));
    if (!pin) {
        return err_new(-ENOMEM);
    }
    pin->id = id;
    prefix_hand_over(model, seq, seq->n_prompt, &pin->pages);
    list_append(&model->pins, &pin->link);
    seq_close(model, seq_id, true);
    return PIN_OK;
}

static void drop(struct model *model, struct pin *pin)
{
    kv_pages_shrink(&model->kv, &pin->pages, 0, false);
    kv_pages_finish(&model->kv, &pin->pages);
    list_remove(&pin->link);
    mem_free(pin);
}

int pin_drop(struct model *model, uint32_t id)
{
    struct pin *pin = find(model, id);

    if (!pin) {
        return err_new(-ENOENT);
    }
    drop(model, pin);
    return 0;
}

void pin_drop_all(struct model *model)
{
    struct list *link;

    while ((link = list_first(&model->pins))) {
        drop(model, container_of(link, struct pin, link));
    }
}
