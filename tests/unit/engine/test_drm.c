/* The graphics device clients of a process, read from the kernel's text about its descriptors. */
#include "engine/engine.h"

#include "base/clean.h"
#include "unit.h"

static const struct info {
    const char *text;
    bool has_id;
    uint64_t id;
} infos[] = {
    { "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t8\ndrm-engine-gfx:\t5 ns\n", true, 8 },
    { "drm-client-id:\t18446744073709551615\n", true, UINT64_MAX },
    { "drm-client-id: 0", true, 0 },
    { "pos:\t0\nflags:\t02\nmnt_id:\t13\n", false, 0 },
    { "drm-client-id:\tnone\n", false, 0 },
    { "x-drm-client-id:\t8\n", false, 0 },
    { "", false, 0 },
};

START_TEST(the_client_number_is_found_where_it_is)
{
    uint64_t id = 77;

    ck_assert_int_eq(engine_read_drm_id(infos[_i].text, &id), infos[_i].has_id);
    if (infos[_i].has_id) {
        ck_assert_uint_eq(id, infos[_i].id);
    }
}
END_TEST

START_TEST(a_process_without_a_graphics_device_is_no_client)
{
    Sotto__Engine__DrmClient clients[ENGINE_DRM_MOST];

    ck_assert_uint_eq(engine_find_drm(clients), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("drm");
    TCase *tests = tcase_create("all");

    tcase_add_loop_test(tests, the_client_number_is_found_where_it_is, 0, (int)COUNTOF(infos));
    tcase_add_test(tests, a_process_without_a_graphics_device_is_no_client);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
