/*
 * Limit: what the wire may cost; every one with the attack or mistake that it answers
 *
 * Those that policy may lower for a peer are told in Welcome. All sizes in bytes unless the name says otherwise.
 */
#ifndef SOTTO_PROTO_LIMIT_H
#define SOTTO_PROTO_LIMIT_H

#define PROTO_VERSION 1

/* A peer that has not said Hello is nobody: it may not make us hold more than a page. */
#define LIMIT_FRAME_NEW (4u << 10)
#define LIMIT_HELLO_MS  5000u

/* A text of LIMIT_TEXT with its frame, or 131,072 token ids, fit with room. A length beyond is refused from its
 * four bytes, before any memory is set aside. */
#define LIMIT_FRAME (4u << 20)
#define LIMIT_TEXT  (2u << 20)

/* A head without its body is no reason to wait for ever. */
#define LIMIT_HALF_FRAME_MS 10000u

/* Unpacked, a frame may take so many times its length, plus a constant for small ones: all that the limits below
 * allow at once, each as short as can be. */
#define LIMIT_UNPACK_FACTOR 5u
#define LIMIT_UNPACK_EXTRA  (256u << 10)

/* One app must not use up the descriptors of all; 256 connections stay below the usual 1,024. */
#define LIMIT_CONNS         256u
#define LIMIT_CONNS_A_UID   64u
#define LIMIT_SESSIONS      256u /* conversations kept between requests, all peers */
#define LIMIT_STREAMS       64u  /* open at once on one connection */
#define LIMIT_WAITING       256u /* generate requests not yet running, all peers */
#define LIMIT_WAITING_KEPT  32u  /* of those, for interactive and above; so many again for realtime alone; */
#define LIMIT_WAITING_FEW   4u   /* so many again for users of whom fewer than this wait */
#define LIMIT_WAITING_A_UID 64u
#define LIMIT_WORDS_JOBS    64u /* texts being tokenised or waiting for it, all peers */
#define LIMIT_WORDS_A_UID   8u

/* The reader that does not read: its streams park at STALL, go on at RESUME; at MAX, or after STALL_MS without a
 * byte taken, the connection ends. The kernel is no buffer (278 small frames fill a socket). */
#define LIMIT_OUT_STALL  (64u << 10)
#define LIMIT_OUT_RESUME (16u << 10)
#define LIMIT_OUT_MAX    (1u << 20)
#define LIMIT_STALL_MS   60000u
#define LIMIT_CLOSING_MS 1000u /* for the last Error to be taken */

/* Bytes read and unsent, all connections of one uid together. */
#define LIMIT_WIRE_A_UID (16u << 20)

/* Fields of requests. */
#define LIMIT_NAME           64u
#define LIMIT_KEY            64u
#define LIMIT_STOPS          16u
#define LIMIT_STOP           256u /* bytes; text lags behind by the longest stop string */
#define LIMIT_BIASES         1024u
#define LIMIT_TOP_LOGPROBS   1024u
#define LIMIT_MESSAGES       1024u
#define LIMIT_TOOLS          256u
#define LIMIT_TOPICS         16u
#define LIMIT_PENALTY_WINDOW 4096u
#define LIMIT_CREDIT         (1u << 31)

/* What an answer may have when the policy names no other cap. */
#define DEFAULT_ANSWER_TOKENS  512u
#define DEFAULT_KEEP_TOKENS    4u /* attention sinks: Xiao et al. 2023 (arXiv 2309.17453) found four to be enough */
#define DEFAULT_TEMPERATURE    0.7f
#define DEFAULT_TOP_P          0.95f
#define DEFAULT_PENALTY_WINDOW 64u

/* Engine socketpair: a prompt of the longest context with its sampler; logprobs or hidden states of a batch back. */
#define LIMIT_TO_ENGINE   (16u << 20)
#define LIMIT_FROM_ENGINE (16u << 20)

/* A deadline further away than this is none. */
#define LIMIT_DEADLINE_MS 3600000u

/* Frames of a screen: 1,000 to 1 a second. */
#define LIMIT_FRAME_LEAST_US 1000u
#define LIMIT_FRAME_MOST_US  1000000u

/* Nobody knows an animation longer ahead. */
#define LIMIT_BUSY_MOST_US 60000000u

#endif
