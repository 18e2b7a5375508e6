/*
 * Limit: bounds of the protocol, each with the attack or mistake that it answers
 *
 * Welcome tells those that policy may lower for a peer. Sizes are in bytes unless the name says otherwise.
 */
#ifndef SOTTO_PROTO_LIMIT_H
#define SOTTO_PROTO_LIMIT_H

#define PROTO_VERSION 1

/* A peer that has not sent Hello may not make the daemon hold more than a page. */
#define LIMIT_FRAME_NEW (4u << 10)
#define LIMIT_HELLO_MS  5000u

/* A text of LIMIT_TEXT with its frame, or 131,072 token ids, fit easily. A greater length is refused from its four
 * bytes, before any memory is set aside. */
#define LIMIT_FRAME (4u << 20)
#define LIMIT_TEXT  (2u << 20)

/* A frame must be complete within this time after its first byte. */
#define LIMIT_HALF_FRAME_MS 10000u

/* Unpacked, a frame may take FACTOR times its length plus EXTRA. That fits everything that the limits below allow at
 * once, with each field as short as possible. */
#define LIMIT_UNPACK_FACTOR 5u
#define LIMIT_UNPACK_EXTRA  (256u << 10)

/* One app must not use up the descriptors of all; 256 connections stay below the usual 1,024. */
#define LIMIT_CONNS         256u
#define LIMIT_CONNS_KEPT    16u /* of those, kept for administrators; as many again for users that have few */
#define LIMIT_CONNS_FEW     4u
#define LIMIT_CONNS_A_UID   64u
#define LIMIT_SESSIONS      256u /* conversations kept between requests, all peers */
#define LIMIT_STREAMS       64u  /* open at once on one connection */
#define LIMIT_WAITING       256u /* generate requests not yet running, all peers */
#define LIMIT_WAITING_KEPT  32u  /* of those, kept for interactive and above; as many again for realtime alone */
#define LIMIT_WAITING_FEW   4u   /* as many again for users that have fewer than this waiting */
#define LIMIT_WAITING_A_UID 64u
#define LIMIT_WATCHES_A_UID 64u /* an event costs the loop as much as it has watchers */
#define LIMIT_WORDS_JOBS    64u /* texts being tokenised or waiting for it, all peers; a user may always have one */
#define LIMIT_WORDS_A_UID   8u

/* A client that does not read: its streams are parked at STALL unsent bytes and go on at RESUME; at MAX, or after
 * STALL_MS in which it took no byte, the connection ends. The kernel buffers little (278 small frames fill a socket).
 * */
#define LIMIT_OUT_STALL  (64u << 10)
#define LIMIT_OUT_RESUME (16u << 10)
#define LIMIT_OUT_MAX    (1u << 20)
#define LIMIT_STALL_MS   60000u
#define LIMIT_CLOSING_MS 1000u /* for the client to take the last Error */

/* Bytes read and unsent, of all connections of one uid together. */
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

/* Defaults of a Generate; policy may set another number of answer tokens. */
#define DEFAULT_ANSWER_TOKENS  512u
#define DEFAULT_KEEP_TOKENS    4u /* attention sinks: Xiao et al. 2023 (arXiv 2309.17453) found four to be enough */
#define DEFAULT_TEMPERATURE    0.7f
#define DEFAULT_TOP_P          0.95f
#define DEFAULT_PENALTY_WINDOW 64u

/* Engine socketpair: there goes a prompt of the longest context with its sampler; back come the logprobs or hidden
 * states of a batch. */
#define LIMIT_TO_ENGINE   (16u << 20)
#define LIMIT_FROM_ENGINE (16u << 20)

/* The furthest deadline. */
#define LIMIT_DEADLINE_MS 3600000u

/* Time between frames of a screen: 1,000 frames a second to one. */
#define LIMIT_FRAME_LEAST_US 1000u
#define LIMIT_FRAME_MOST_US  1000000u

/* The longest animation that a hint may announce. */
#define LIMIT_BUSY_MOST_US 60000000u

#endif
