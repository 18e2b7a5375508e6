/*
 * Choice and Claim: which device computes, and for whom.
 */
#include "drm/choice.h"
#include "drm/claim.h"
#include "unit.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static struct device devices[3];
static struct choice choice;
static struct diag diag;

static void device_is(struct device *device, unsigned minor, const char *driver, bool display)
{
    const struct chip_signs signs = { .driver = driver };

    *device = (struct device){ .has_display = display, .chip = chip_find(&signs) };
    snprintf(device->render.path, sizeof(device->render.path), "/dev/dri/renderD%u", minor);
    device->render.minor = minor;
    device->render.access = NODE_OPENS;
}

static int choose(uint32_t n, const struct choice_policy *policy)
{
    diag = (struct diag)DIAG_INIT;
    return choice_make(devices, n, policy, &choice, &diag);
}

START_TEST(the_one_that_drives_the_display_is_chosen)
{
    device_is(&devices[0], 128, "amdgpu", false);
    device_is(&devices[1], 129, "i915", true);
    ck_assert_int_eq(choose(2, &(struct choice_policy){ 0 }), CHOICE_OK);
    ck_assert_uint_eq(choice.chosen, 1);
    ck_assert_ptr_nonnull(strstr(choice.why[1], "drives the display"));
    ck_assert_ptr_nonnull(strstr(choice.why[0], "another one"));
}
END_TEST

START_TEST(beside_a_display_that_computes_nothing_the_first_gpu_is_chosen)
{
    device_is(&devices[0], 128, "powervr", false);
    device_is(&devices[1], 0, "tidss", true);
    devices[1].render.access = NODE_NONE;
    ck_assert_int_eq(choose(2, &(struct choice_policy){ 0 }), CHOICE_OK);
    ck_assert_uint_eq(choice.chosen, 0);
    ck_assert_ptr_nonnull(strstr(choice.why[1], "shows pictures"));
}
END_TEST

START_TEST(a_path_in_the_configuration_decides)
{
    const struct choice_policy policy = { .node = "/dev/dri/renderD128" };

    device_is(&devices[0], 128, "amdgpu", false);
    device_is(&devices[1], 129, "i915", true);
    ck_assert_int_eq(choose(2, &policy), CHOICE_OK);
    ck_assert_uint_eq(choice.chosen, 0);
}
END_TEST

START_TEST(a_path_that_is_no_device_is_refused_whatever_else_there_is)
{
    const struct choice_policy policy = { .node = "/dev/dri/renderD131" };

    device_is(&devices[0], 128, "amdgpu", true);
    ck_assert_int_eq(choose(1, &policy), CHOICE_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "/dev/dri/renderD131"));
}
END_TEST

START_TEST(a_device_that_can_not_be_opened_is_not_chosen_and_the_reason_is_given)
{
    device_is(&devices[0], 128, "powervr", true);
    devices[0].render.access = NODE_GONE;
    ck_assert_int_eq(choose(1, &(struct choice_policy){ 0 }), CHOICE_NONE);
    ck_assert_ptr_nonnull(strstr(choice.why[0], "PrivateDevices=no"));
    ck_assert_int_eq(choose(1, &(struct choice_policy){ .needs_gpu = true }), CHOICE_REFUSED);
}
END_TEST

START_TEST(a_virtual_device_serves_only_if_allowed)
{
    device_is(&devices[0], 128, "vgem", false);
    ck_assert_int_eq(choose(1, &(struct choice_policy){ 0 }), CHOICE_NONE);
    ck_assert_ptr_nonnull(strstr(choice.why[0], "allow_software_gpu"));
    ck_assert_int_eq(choose(1, &(struct choice_policy){ .allow_software = true }), CHOICE_OK);
}
END_TEST

START_TEST(without_any_device_the_cpu_computes)
{
    ck_assert_int_eq(choose(0, &(struct choice_policy){ 0 }), CHOICE_NONE);
    ck_assert_ptr_nonnull(strstr(diag.text, "no DRM device"));
}
END_TEST

START_TEST(a_second_claim_is_refused_and_names_the_owner)
{
    char folder[] = "/tmp/sotto-claim-XXXXXX";
    struct claim claim;
    struct claim second = { .fd = -1 };
    char owner[32];
    char path[96];
    int ready[2];
    pid_t child;
    char byte;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        if (claim_take(&claim, folder, "0000:03:00.0", &diag) != CLAIM_OK) {
            _exit(1);
        }
        write(ready[1], "x", 1);
        pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    diag = (struct diag)DIAG_INIT;
    ck_assert_int_eq(claim_take(&second, folder, "0000:03:00.0", &diag), CLAIM_HELD);
    snprintf(owner, sizeof(owner), "process %d", (int)child);
    ck_assert_ptr_nonnull(strstr(diag.text, owner));
    ck_assert_ptr_nonnull(strstr(diag.text, "test-drm-choice"));
    ck_assert_int_eq(claim_take(&second, folder, "0000:04:00.0", &diag), CLAIM_OK); /* another device */
    claim_drop(&second);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(claim_take(&second, folder, "0000:03:00.0", &diag), CLAIM_OK);
    claim_drop(&second);
    claim_drop(&second);
    snprintf(path, sizeof(path), "rm -r %s", folder);
    ck_assert_int_eq(system(path), 0);
}
END_TEST

START_TEST(a_missing_folder_is_a_fault_with_a_sentence)
{
    struct claim claim;

    diag = (struct diag)DIAG_INIT;
    ck_assert_int_lt(claim_take(&claim, "/tmp/no/such/folder", "gpu", &diag), 0);
    ck_assert(diag_is_set(&diag));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choice");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, the_one_that_drives_the_display_is_chosen);
    tcase_add_test(facts, beside_a_display_that_computes_nothing_the_first_gpu_is_chosen);
    tcase_add_test(facts, a_path_in_the_configuration_decides);
    tcase_add_test(facts, a_path_that_is_no_device_is_refused_whatever_else_there_is);
    tcase_add_test(facts, a_device_that_can_not_be_opened_is_not_chosen_and_the_reason_is_given);
    tcase_add_test(facts, a_virtual_device_serves_only_if_allowed);
    tcase_add_test(facts, without_any_device_the_cpu_computes);
    tcase_add_test(facts, a_second_claim_is_refused_and_names_the_owner);
    tcase_add_test(facts, a_missing_folder_is_a_fault_with_a_sentence);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
