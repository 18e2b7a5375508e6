/*
 * Engine: which side of a device an engine (fdinfo) or ring (trace events) belongs to, by its name
 *
 * A name never seen counts as graphics: what we don't know we don't call idle.
 */
#ifndef SOTTO_LOAD_ENGINE_CLASS_H
#define SOTTO_LOAD_ENGINE_CLASS_H

enum engine_class {
    ENGINE_GRAPHICS,
    ENGINE_COMPUTE,
    ENGINE_OTHER, /* copies, video and work on the CPU: takes no time from shaders */
    ENGINE_CLASS_COUNT,
};

/* Numbers of instances at the end ("ccs0", "comp_1.0.0") don't matter. */
enum engine_class engine_class_of(const char *name);

#endif
