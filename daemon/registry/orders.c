#include "registry/orders.h"
#include "base/num.h"
#include "registry/registry.h"

void orders_stop(struct instance *instance, uint32_t sequence)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Stop stop = SOTTO__ENGINE__STOP__INIT;

    stop.sequence = sequence;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STOP;
    order.stop = &stop;
    engine_tell(instance->engine, &order);
}

void orders_close(struct instance *instance, uint32_t sequence, uint32_t n_known, bool keep)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Trim trim = SOTTO__ENGINE__TRIM__INIT;
    Sotto__Engine__Close close = SOTTO__ENGINE__CLOSE__INIT;

    if (!instance_takes_orders(instance)) {
        return;
    }
    if (n_known > 0) {
        trim.sequence = sequence;
        trim.n_tokens = n_known;
        order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_TRIM;
        order.trim = &trim;
        engine_tell(instance->engine, &order);
    }
    close.sequence = sequence;
    close.keep = keep;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_CLOSE;
    order.close = &close;
    engine_tell(instance->engine, &order);
}

void orders_pin(struct instance *instance, uint32_t number, uint32_t sequence)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Pin pin = SOTTO__ENGINE__PIN__INIT;

    if (!instance_takes_orders(instance)) {
        return;
    }
    pin.pin = number;
    pin.sequence = sequence;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_PIN;
    order.pin = &pin;
    engine_tell(instance->engine, &order);
}

void orders_query(struct instance *instance)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Query query = SOTTO__ENGINE__QUERY__INIT;

    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_QUERY;
    order.query = &query;
    instance->owes_figures = true;
    engine_tell(instance->engine, &order);
}

void orders_limit_pages(struct instance *instance)
{
    const struct instance_facts *facts = &instance->facts;
    uint32_t permille = instance->registry->kv_permille;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Limits limits = SOTTO__ENGINE__LIMITS__INIT;
    uint64_t pages = num_max((uint64_t)facts->n_pages * permille / 1000, 1);

    if (permille >= 1000 && !instance->is_pressed) {
        return; /* it has all its pages, as it was started */
    }
    instance->is_pressed = permille < 1000;
    limits.kv_bytes = permille < 1000 ? pages * facts->n_page_tok * facts->kv_token_bytes : 0;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_LIMITS;
    order.limits = &limits;
    engine_tell(instance->engine, &order);
}
