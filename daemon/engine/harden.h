/*
 * Harden: what the engine's process gives up
 *
 * An engine reads a stranger's file and a stranger's tokens. It begins by tying its life to sottod's and hiding its
 * memory; once its model is loaded it needs the socket, its own memory and its threads, and nothing else.
 */
#ifndef SOTTO_ENGINE_HARDEN_H
#define SOTTO_ENGINE_HARDEN_H

/* First thing in main(): dies with its parent, is no core dump and no debugger's, goes first when memory is short,
 * and leaves SIGINT, SIGTERM and SIGHUP to sottod, which ends engines in good order. */
void harden_begin(void);

/* All threads, for good: no file is opened, no socket made, no program run, no memory made executable. A refused call
 * fails with EPERM. Left out in builds with sanitizers, which need more. */
void harden_narrow(void);

#endif
