#include "plant/dram.h"
#include "timeline.h"

double dram_stretch(const struct scenario *scenario, uint64_t now_ns)
{
    int64_t permille = 0;

    for (int64_t i = 0; i < scenario->n_traffic; i++) {
        if ((uint64_t)scenario->traffic[i].at_ms * TIMELINE_MS <= now_ns) {
            permille = scenario->traffic[i].permille;
        }
    }
    return 1000.0 / (double)(1000 - permille);
}
