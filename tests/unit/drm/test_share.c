/*
 * Share and Syncobj: buffers and sync objects on fake nodes of three drivers.
 */
#include "board.h"
#include "drm/share.h"
#include "drm/syncobj.h"
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

static struct share share;
static int fd;

static void setup(void)
{
    struct device devices[DEVICES_MAX];
    uint32_t n;

    board_platform("renderD128", 128, "fd00000.gpu", "powervr", NULL);
    board_platform("renderD129", 129, "fec00000.v3d", "v3d", NULL);
    board_platform("renderD130", 130, "vgem", "vgem", NULL);
    ck_assert_int_eq(device_find_all(&tree_root, devices, &n), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(node_open(&devices[0].render, &fd), 0);
    share_init(&share, fd);
}

static int open_other(const char *path, uint32_t minor)
{
    struct node node = { .minor = minor };
    int other;

    snprintf(node.path, sizeof(node.path), "%s", path);
    ck_assert_int_eq(node_open(&node, &other), 0);
    return other;
}

static void begin(void)
{
    board_make();
    setup();
}

static void teardown(void)
{
    share_finish(&share);
    close(fd);
    fakedrm_use(NULL);
    tree_remove();
}

START_TEST(buffers_of_the_same_file_are_one_handle_closed_once)
{
    uint32_t handle = fakedrm_make_buffer(fd);
    uint32_t again;
    int dmabuf;

    ck_assert_int_eq(share_own(&share, handle), 0);
    ck_assert_int_eq(share_export(&share, handle, &dmabuf), 0);
    ck_assert_int_eq(share_import(&share, dmabuf, &again), 0);
    ck_assert_uint_eq(again, handle);
    share_drop(&share, handle);
    ck_assert_uint_eq(fakedrm_n_handles(), 1); /* the import still holds it */
    share_drop(&share, again);
    ck_assert_uint_eq(fakedrm_n_handles(), 0);
    close(dmabuf);
}
END_TEST

START_TEST(a_buffer_goes_to_another_device_and_holds_the_same_bytes)
{
    uint32_t handle = fakedrm_make_buffer(fd);
    int other_fd = open_other("/dev/dri/renderD129", 129);
    struct share other;
    uint32_t taken;
    int dmabuf;
    int back;
    char *bytes;

    share_init(&other, other_fd);
    ck_assert_int_eq(share_own(&share, handle), 0);
    ck_assert_int_eq(share_export(&share, handle, &dmabuf), 0);
    ck_assert_int_eq(share_import(&other, dmabuf, &taken), 0);
    ck_assert_int_eq(share_export(&other, taken, &back), 0);
    bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    bytes[7] = 'x';
    munmap(bytes, 4096);
    bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, back, 0);
    ck_assert_int_eq(bytes[7], 'x');
    munmap(bytes, 4096);
    share_finish(&other);
    close(other_fd);
    close(dmabuf);
    close(back);
}
END_TEST

START_TEST(importing_into_a_driver_without_it_is_a_fault)
{
    uint32_t handle = fakedrm_make_buffer(fd);
    int vgem = open_other("/dev/dri/renderD130", 130);
    struct share other;
    uint32_t taken = 77;
    int dmabuf;

    share_init(&other, vgem);
    ck_assert_int_eq(share_own(&share, handle), 0);
    ck_assert_int_eq(share_export(&share, handle, &dmabuf), 0);
    ck_assert_int_eq(share_import(&other, dmabuf, &taken), -ENODEV);
    ck_assert_uint_eq(taken, 77);
    share_finish(&other);
    close(vgem);
    close(dmabuf);
}
END_TEST

START_TEST(without_memory_for_the_count_the_handle_is_closed)
{
    uint32_t handle = fakedrm_make_buffer(fd);

    mem_fail_nth(0);
    ck_assert_int_eq(share_own(&share, handle), -ENOMEM);
    mem_fail_nth(-1);
    ck_assert_uint_eq(fakedrm_n_handles(), 0);
}
END_TEST

START_TEST(a_wait_ends_at_its_timeout)
{
    struct syncobj object;

    ck_assert_int_eq(syncobj_create(&object, fd, false), 0);
    ck_assert_int_eq(syncobj_wait(&object, 0, 2000), SYNCOBJ_LATE);
    ck_assert_int_eq(syncobj_signal(&object), 0);
    ck_assert_int_eq(syncobj_wait(&object, 0, 2000), SYNCOBJ_OK);
    ck_assert_int_eq(syncobj_reset(&object), 0);
    ck_assert_int_eq(syncobj_wait(&object, 0, 0), SYNCOBJ_LATE);
    syncobj_destroy(&object);
    syncobj_destroy(&object);
}
END_TEST

START_TEST(a_timeline_is_waited_for_by_its_point)
{
    struct syncobj object;
    uint64_t point;

    ck_assert_int_eq(syncobj_create(&object, fd, false), 0);
    ck_assert_int_eq(syncobj_signal_point(&object, 5), 0);
    ck_assert_int_eq(syncobj_read(&object, &point), 0);
    ck_assert_uint_eq(point, 5);
    ck_assert_int_eq(syncobj_wait(&object, 5, 1000), SYNCOBJ_OK);
    ck_assert_int_eq(syncobj_wait(&object, 6, 1000), SYNCOBJ_LATE);
    syncobj_destroy(&object);
}
END_TEST

static void *signal_later(void *owner)
{
    const struct timespec nap = { .tv_nsec = 20000000 };

    nanosleep(&nap, NULL);
    syncobj_signal_point(owner, 9);
    return NULL;
}

START_TEST(a_wait_ends_when_another_thread_signals)
{
    struct syncobj object;
    pthread_t thread;

    ck_assert_int_eq(syncobj_create(&object, fd, false), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, signal_later, &object), 0);
    ck_assert_int_eq(syncobj_wait(&object, 9, 60000000), SYNCOBJ_OK);
    pthread_join(thread, NULL);
    syncobj_destroy(&object);
}
END_TEST

START_TEST(a_sync_object_is_passed_on_as_a_descriptor)
{
    struct syncobj object;
    struct syncobj other;
    int object_fd;

    ck_assert_int_eq(syncobj_create(&object, fd, false), 0);
    ck_assert_int_eq(syncobj_export(&object, &object_fd), 0);
    ck_assert_int_eq(syncobj_import(&other, fd, object_fd), 0);
    ck_assert_int_eq(syncobj_signal(&other), 0);
    ck_assert_int_eq(syncobj_wait(&object, 0, 0), SYNCOBJ_OK);
    close(object_fd);
    syncobj_destroy(&object);
}
END_TEST

START_TEST(drivers_without_timelines_or_sync_objects_return_eopnotsupp)
{
    int v3d = open_other("/dev/dri/renderD129", 129);
    int vgem = open_other("/dev/dri/renderD130", 130);
    struct syncobj object;
    struct syncobj none;

    ck_assert_int_eq(syncobj_create(&object, v3d, true), 0);
    ck_assert_int_eq(syncobj_wait(&object, 0, 0), SYNCOBJ_OK);
    ck_assert_int_eq(syncobj_signal_point(&object, 1), -EOPNOTSUPP);
    ck_assert_int_eq(syncobj_create(&none, vgem, false), -EOPNOTSUPP);
    syncobj_destroy(&object);
    close(v3d);
    close(vgem);
}
END_TEST

START_TEST(on_a_lost_device_everything_fails_with_one_number)
{
    struct syncobj object;
    uint32_t handle = fakedrm_make_buffer(fd);
    int dmabuf;

    ck_assert_int_eq(share_own(&share, handle), 0);
    ck_assert_int_eq(syncobj_create(&object, fd, false), 0);
    tree_write("/dev/dri/renderD128", "driver=powervr\nminor=128\nlost=1\n");
    ck_assert_int_eq(syncobj_wait(&object, 0, 1000000), -ENODEV);
    ck_assert_int_eq(syncobj_signal(&object), -ENODEV);
    ck_assert_int_eq(share_export(&share, handle, &dmabuf), -ENODEV);
    ck_assert(device_is_lost(fd));
    syncobj_destroy(&object);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("share");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, begin, teardown);
    tcase_add_test(facts, buffers_of_the_same_file_are_one_handle_closed_once);
    tcase_add_test(facts, a_buffer_goes_to_another_device_and_holds_the_same_bytes);
    tcase_add_test(facts, importing_into_a_driver_without_it_is_a_fault);
    tcase_add_test(facts, without_memory_for_the_count_the_handle_is_closed);
    tcase_add_test(facts, a_wait_ends_at_its_timeout);
    tcase_add_test(facts, a_timeline_is_waited_for_by_its_point);
    tcase_add_test(facts, a_wait_ends_when_another_thread_signals);
    tcase_add_test(facts, a_sync_object_is_passed_on_as_a_descriptor);
    tcase_add_test(facts, drivers_without_timelines_or_sync_objects_return_eopnotsupp);
    tcase_add_test(facts, on_a_lost_device_everything_fails_with_one_number);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
