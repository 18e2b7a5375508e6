/*
 * Engine class: the side of a device that an engine (fdinfo) or ring (trace events) belongs to, by its name
 *
 * An unknown name counts as graphics: what we don't know we don't call idle.
 */
#ifndef SOTTO_LOAD_ENGINE_CLASS_H
#define SOTTO_LOAD_ENGINE_CLASS_H

enum engine_class {
    ENGINE_GRAPHICS,
    ENGINE_COMPUTE,
    ENGINE_OTHER, /* copies, video and work on the CPU: takes no time from shaders */
    ENGINE_CLASS_COUNT,
};

/* Returns the class of the engine @name. Instance numbers at the end ("ccs0", "comp_1.0.0") are ignored. */
enum engine_class engine_class_of(const char *name);

#endif
