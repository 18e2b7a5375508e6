#include "sched/service.h"
#include "base/num.h"

void service_forget(struct service *service)
{
    service->n = 0;
}

void service_end(struct service *service, uint64_t now_us)
{
    service->at_us[service->n++ % SERVICE_ENDS] = now_us;
}

void service_begin(struct service *service, uint64_t now_us)
{
    service_forget(service);
    service_end(service, now_us);
}

/* Returns the @nth entry that is remembered, the oldest first. */
static uint64_t nth(const struct service *service, uint64_t nth)
{
    uint64_t first = service->n > SERVICE_ENDS ? service->n - SERVICE_ENDS : 0;

    return service->at_us[(first + nth) % SERVICE_ENDS];
}

double service_wait_us(const struct service *service, double n, uint64_t now_us)
{
    uint64_t n_known = num_min(service->n, SERVICE_ENDS);
    uint64_t n_gaps = n < 1.0 ? 1 : n < SERVICE_ENDS ? (uint64_t)n : SERVICE_ENDS;
    uint64_t longest_us = 0;

    if (n_known == 0) {
        return 0.0;
    }
    n_gaps = num_min(n_gaps, num_max(1, n_known - 1));
    /* The last gap is still open: it is at least as long as it has been. */
    for (uint64_t i = 0; i + n_gaps <= n_known; i++) {
        uint64_t to_us = i + n_gaps < n_known ? nth(service, i + n_gaps) : num_max(now_us, nth(service, i));

        longest_us = num_max(longest_us, to_us - nth(service, i));
    }
    return (double)longest_us * (n > (double)n_gaps ? n / (double)n_gaps : 1.0);
}
