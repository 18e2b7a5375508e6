#include "machine/compositor.h"
#include "base/num.h"

void compositor_take(struct compositor *compositor, const Sotto__V1__GraphicsHint *hint, uint64_t now_us)
{
    compositor->at_us = now_us;
    if (hint->opt_frame_budget_us_case) {
        compositor->frame_us = hint->frame_budget_us;
        compositor->frame_at_us = now_us;
    }
    compositor->busy_until_us = hint->busy_for_us ? now_us + hint->busy_for_us : 0;
}

void compositors_fill(const struct list *compositors, uint64_t now_us, struct governor_input *input)
{
    const struct list *link;

    input->hint.at_us = 0;
    input->hint.frame_us = 0;
    input->hint.busy_until_us = 0;
    list_for_each (link, compositors) {
        const struct compositor *one = container_of(link, struct compositor, link);
        bool holds = one->frame_us > 0 && now_us - one->frame_at_us < COMPOSITOR_FRAME_US;

        input->hint.at_us = num_max(input->hint.at_us, one->at_us);
        input->hint.busy_until_us = num_max(input->hint.busy_until_us, one->busy_until_us);
        if (holds && (input->hint.frame_us == 0 || one->frame_us < input->hint.frame_us)) {
            input->hint.frame_us = one->frame_us;
        }
    }
}
