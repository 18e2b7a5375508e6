// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * labgpu: a virtual GPU for integration tests.
 *
 * One platform device with the real kernel interfaces around it:
 *  - DRM primary + render node (GEM shmem, dumb buffers, PRIME, syncobj and
 *    timeline syncobj), fdinfo with drm-engine-*, drm-cycles-*, drm-*-memory;
 *  - a thermal zone "labgpu" (passive 85 C, hot 110 C, critical 125 C);
 *  - a devfreq device with four operating points.
 *
 * Knobs, all under /sys/module/labgpu/parameters:
 *  temp    millidegrees reported by the zone; a write updates the zone at once
 *          (trip events, uevents and thermal netlink included)
 *  load    percent that devfreq sees as busy
 *  unplug  write 1: drm_dev_unplug(), as a hot removal
 *  fail    write an errno: the next open of a node fails with it (once)
 * Per client: DRM_IOCTL_LABGPU_BUSY (see below) sets the percentage at which
 * this client's drm-engine-compute counter runs.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <linux/devfreq.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm_opp.h>
#include <linux/thermal.h>

struct drm_labgpu_busy {
    __u32 percent;
    __u32 pad;
};
/* #define DRM_IOCTL_LABGPU_BUSY DRM_IOW(DRM_COMMAND_BASE + 0, struct drm_labgpu_busy) */

struct labgpu {
    struct drm_device drm;
    struct platform_device *pdev;
    struct thermal_zone_device *tz;
    struct devfreq *df;
    unsigned long freq;
};
struct labfile {
    struct mutex lock;
    u64 last, busy_ns;
    u32 percent;
};

static struct labgpu *lab;
static int temp = 45000, load, fail;
static bool unplugged;

static void lab_account(struct labfile *lf) /* lf->lock held */
{
    u64 now = ktime_get_ns();

    lf->busy_ns += div_u64((now - lf->last) * lf->percent, 100);
    lf->last = now;
}

static int lab_open(struct drm_device *dev, struct drm_file *file)
{
    struct labfile *lf;
    int e = xchg(&fail, 0);

    if (e)
        return -abs(e);
    lf = kzalloc(sizeof(*lf), GFP_KERNEL);
    if (!lf)
        return -ENOMEM;
    mutex_init(&lf->lock);
    lf->last = ktime_get_ns();
    file->driver_priv = lf;
    return 0;
}

static void lab_postclose(struct drm_device *dev, struct drm_file *file)
{
    kfree(file->driver_priv);
}

static int lab_busy_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
    struct drm_labgpu_busy *a = data;
    struct labfile *lf = file->driver_priv;

    if (a->percent > 100 || a->pad)
        return -EINVAL;
    mutex_lock(&lf->lock);
    lab_account(lf);
    lf->percent = a->percent;
    mutex_unlock(&lf->lock);
    return 0;
}

static void lab_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
    struct labfile *lf = file->driver_priv;

    mutex_lock(&lf->lock);
    lab_account(lf);
    drm_printf(p, "drm-engine-compute:\t%llu ns\n", lf->busy_ns);
    mutex_unlock(&lf->lock);
    drm_printf(p, "drm-engine-capacity-compute:\t1\n");
    drm_printf(p, "drm-maxfreq-compute:\t800000000 Hz\n");
    drm_printf(p, "drm-curfreq-compute:\t%lu Hz\n", lab->freq);
    drm_show_memory_stats(p, file);
}

static const struct drm_ioctl_desc lab_ioctls[] = {
    [0] = { .cmd = DRM_IOW(DRM_COMMAND_BASE + 0, struct drm_labgpu_busy),
            .flags = DRM_RENDER_ALLOW,
            .func = lab_busy_ioctl,
            .name = "LABGPU_BUSY" },
};

static const struct file_operations lab_fops = {
    .owner = THIS_MODULE,
    DRM_GEM_FOPS,
    .show_fdinfo = drm_show_fdinfo,
};

static const struct drm_driver lab_driver = {
    .driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ | DRIVER_SYNCOBJ_TIMELINE,
    .open = lab_open,
    .postclose = lab_postclose,
    .show_fdinfo = lab_show_fdinfo,
    .ioctls = lab_ioctls,
    .num_ioctls = ARRAY_SIZE(lab_ioctls),
    .fops = &lab_fops,
    DRM_GEM_SHMEM_DRIVER_OPS,
    .name = "labgpu",
    .desc = "GPU made of nothing",
    .date = "20250101",
    .major = 1,
};

/* thermal */
static int lab_get_temp(struct thermal_zone_device *tz, int *t)
{
    *t = READ_ONCE(temp);
    return 0;
}
static const struct thermal_zone_device_ops lab_tz_ops = { .get_temp = lab_get_temp };
static const struct thermal_trip lab_trips[] = {
    { .type = THERMAL_TRIP_PASSIVE, .temperature = 85000, .hysteresis = 5000, .flags = THERMAL_TRIP_FLAG_RW },
    { .type = THERMAL_TRIP_HOT, .temperature = 110000, .hysteresis = 5000, .flags = THERMAL_TRIP_FLAG_RW },
    { .type = THERMAL_TRIP_CRITICAL, .temperature = 125000 },
};

/* devfreq */
static int lab_target(struct device *dev, unsigned long *freq, u32 flags)
{
    struct dev_pm_opp *opp = devfreq_recommended_opp(dev, freq, flags);

    if (IS_ERR(opp))
        return PTR_ERR(opp);
    dev_pm_opp_put(opp);
    lab->freq = *freq;
    return 0;
}
static int lab_status(struct device *dev, struct devfreq_dev_status *s)
{
    s->total_time = 100;
    s->busy_time = clamp(READ_ONCE(load), 0, 100);
    s->current_frequency = lab->freq;
    return 0;
}
static int lab_cur(struct device *dev, unsigned long *f)
{
    *f = lab->freq;
    return 0;
}
static struct devfreq_dev_profile lab_profile = {
    .initial_freq = 200000000,
    .polling_ms = 100,
    .target = lab_target,
    .get_dev_status = lab_status,
    .get_cur_freq = lab_cur,
};

/* knobs */
static int temp_set(const char *v, const struct kernel_param *kp)
{
    int r = param_set_int(v, kp);

    if (!r && lab && !IS_ERR_OR_NULL(lab->tz))
        thermal_zone_device_update(lab->tz, THERMAL_EVENT_TEMP_SAMPLE);
    return r;
}
static const struct kernel_param_ops temp_ops = { .set = temp_set, .get = param_get_int };
module_param_cb(temp, &temp_ops, &temp, 0644);
module_param(load, int, 0644);
module_param(fail, int, 0644);
static int unplug_set(const char *v, const struct kernel_param *kp)
{
    if (lab && !unplugged) {
        unplugged = true;
        drm_dev_unplug(&lab->drm);
    }
    return 0;
}
static const struct kernel_param_ops unplug_ops = { .set = unplug_set, .get = param_get_bool };
module_param_cb(unplug, &unplug_ops, &unplugged, 0644);

static int __init lab_init(void)
{
    static const unsigned long f[] = { 200000000, 400000000, 600000000, 800000000 };
    struct platform_device *pdev = platform_device_register_simple("labgpu", -1, NULL, 0);
    int i, r;

    if (IS_ERR(pdev))
        return PTR_ERR(pdev);
    if (!devres_open_group(&pdev->dev, NULL, GFP_KERNEL)) {
        r = -ENOMEM;
        goto out;
    }
    dma_coerce_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
    lab = devm_drm_dev_alloc(&pdev->dev, &lab_driver, struct labgpu, drm);
    if (IS_ERR(lab)) {
        r = PTR_ERR(lab);
        goto rel;
    }
    lab->pdev = pdev;
    lab->freq = f[0];
    for (i = 0; i < ARRAY_SIZE(f); i++)
        dev_pm_opp_add(&pdev->dev, f[i], 900000);
    lab->df = devm_devfreq_add_device(&pdev->dev, &lab_profile, "simple_ondemand", NULL);
    if (IS_ERR(lab->df))
        pr_warn("labgpu: no devfreq: %ld\n", PTR_ERR(lab->df));
    lab->tz = thermal_zone_device_register_with_trips("labgpu", lab_trips, ARRAY_SIZE(lab_trips), lab, &lab_tz_ops,
                                                      NULL, 0, 0);
    if (IS_ERR(lab->tz))
        pr_warn("labgpu: no thermal zone: %ld\n", PTR_ERR(lab->tz));
    else
        thermal_zone_device_enable(lab->tz);
    r = drm_dev_register(&lab->drm, 0);
    if (!r)
        return 0;
    if (!IS_ERR(lab->tz))
        thermal_zone_device_unregister(lab->tz);
rel:
    devres_release_group(&pdev->dev, NULL);
out:
    platform_device_unregister(pdev);
    return r;
}

static void __exit lab_exit(void)
{
    struct platform_device *pdev = lab->pdev;

    if (!unplugged)
        drm_dev_unregister(&lab->drm);
    if (!IS_ERR(lab->tz))
        thermal_zone_device_unregister(lab->tz);
    devres_release_group(&pdev->dev, NULL);
    dev_pm_opp_remove_all_dynamic(&pdev->dev);
    platform_device_unregister(pdev);
}
module_init(lab_init);
module_exit(lab_exit);
MODULE_DESCRIPTION("GPU made of nothing, for integration tests");
MODULE_LICENSE("Dual MIT/GPL");
