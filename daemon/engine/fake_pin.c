/*
 * Pins of the fake model: each keeps a copy of its tokens, and a prompt finds what it has in common with one of
 * them
 */
#include "engine/fake_model.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "model/pin.h"
#include <errno.h>

struct fake_pin {
    struct list link; /* model::pins */
    uint32_t id;
    uint32_t n_tokens;
    uint32_t n_pages;
    size_t n_salt;
    uint8_t salt[FAKE_SALT_BYTES];
    uint32_t tokens[];
};

static struct fake_pin *find(const struct model *model, uint32_t id)
{
    struct list *link;

    list_for_each (link, &model->pins) {
        struct fake_pin *pin = container_of(link, struct fake_pin, link);

        if (pin->id == id) {
            return pin;
        }
    }
    return NULL;
}

int pin_keep(struct model *model, uint32_t id, uint32_t seq_id)
{
    struct fake_seq *seq = seq_id ? fake_find(model, seq_id) : NULL;
    struct fake_pin *pin;

    if (!seq) {
        return err_new(-ENOENT);
    }
    if (seq->is_in_step || find(model, id)) {
        return err_new(seq->is_in_step ? -EBUSY : -EEXIST);
    }
    if (seq->n_salt == 0) {
        return PIN_UNSUPPORTED;
    }
    if (seq->n_done < seq->n_prompt) {
        return PIN_UNFINISHED;
    }
    pin = mem_calloc(MEM_KV, 1, sizeof(*pin) + seq->n_prompt * sizeof(*pin->tokens));
    if (!pin) {
        return err_new(-ENOMEM);
    }
    pin->id = id;
    pin->n_tokens = seq->n_prompt;
    pin->n_pages = (uint32_t)num_div_up(seq->n_prompt, FAKE_PAGE_TOK);
    pin->n_salt = seq->n_salt;
    memcpy(pin->salt, seq->salt, seq->n_salt);
    memcpy(pin->tokens, seq->tokens, seq->n_prompt * sizeof(*pin->tokens));
    model->figures.n_held += pin->n_pages;
    list_append(&model->pins, &pin->link);
    seq_close(model, seq_id, true);
    return PIN_OK;
}

static void drop(struct model *model, struct fake_pin *pin)
{
    model->figures.n_held -= pin->n_pages;
    list_remove(&pin->link);
    mem_free(pin);
}

int pin_drop(struct model *model, uint32_t id)
{
    struct fake_pin *pin = find(model, id);

    if (!pin) {
        return err_new(-ENOENT);
    }
    drop(model, pin);
    return 0;
}

void fake_drop_pins(struct model *model)
{
    struct list *link;

    while ((link = list_first(&model->pins))) {
        drop(model, container_of(link, struct fake_pin, link));
    }
}

static bool may_find(const struct fake_pin *pin, const struct seq_request *request)
{
    for (size_t i = 0; i < request->n_pins; i++) {
        if (request->pins[i].n == pin->n_salt && memcmp(request->pins[i].bytes, pin->salt, pin->n_salt) == 0) {
            return true;
        }
    }
    return false;
}

uint32_t fake_find_pinned(const struct model *model, const struct seq_request *request)
{
    struct list *link;
    uint32_t most = 0;

    list_for_each (link, &model->pins) {
        const struct fake_pin *pin = container_of(link, struct fake_pin, link);
        uint32_t n = 0;

        while (may_find(pin, request) && n < pin->n_tokens && n + 1 < request->n_tokens &&
               pin->tokens[n] == request->tokens[n]) {
            n++;
        }
        most = (uint32_t)num_max(most, n);
    }
    return most;
}
