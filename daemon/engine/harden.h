/*
 * Harden: what the engine's process gives up
 *
 * An engine reads untrusted files and untrusted tokens. It begins by tying its life to sottod's and hiding its memory.
 * Once its model is loaded it needs the socket, its own memory and its threads, and nothing else.
 */
#ifndef SOTTO_ENGINE_HARDEN_H
#define SOTTO_ENGINE_HARDEN_H

/* Called first in main(): the process dies with its parent, leaves no core dump, cannot be debugged, and is the first
 * to go when memory is short. SIGINT, SIGTERM and SIGHUP are ignored, since sottod ends engines in order. */
void harden_begin(void);

/* Narrows all threads for good: no file is opened, no socket made, no program run, no memory made executable. A refused
 * call fails with EPERM (base/seccomp.h). */
void harden_narrow(void);

#endif
