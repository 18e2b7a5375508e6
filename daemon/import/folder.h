/*
 * Folder: a model as the Hugging Face libraries save it
 *
 * config.json describes the model; the weights lie in model.safetensors, or in several such files that
 * model.safetensors.index.json names; tokenizer.json holds the vocabulary, tokenizer_config.json the meaning of its
 * special tokens, generation_config.json the tokens that end an answer, and chat_template.jinja (or
 * tokenizer_config.json) the template. Read-only once open.
 */
#ifndef SOTTO_IMPORT_FOLDER_H
#define SOTTO_IMPORT_FOLDER_H

#include "import/json.h"
#include "import/st.h"

struct folder {
    char *path;
    json_t *config;
    const json_t *text;       /* the part of @config about the language model: text_config, or all of it */
    json_t *tokenizer;        /* of tokenizer.json */
    json_t *tokenizer_config; /* or NULL */
    json_t *generation;       /* or NULL */
    char *template_file;      /* text of chat_template.jinja, or NULL */
    size_t n_template;
    struct st **shards; /* owned */
    size_t n_shards;
};

enum folder_outcome {
    FOLDER_OK,
    FOLDER_REFUSED, /* something is missing or malformed: @diag says which file and what */
};

/* FOLDER_REFUSED, or -ENOMEM. */
int folder_open(struct folder **ret_folder, const char *path, struct diag *diag);
void folder_close(struct folder *folder);
void folder_closep(struct folder **folder);

const struct st_tensor *folder_find(const struct folder *folder, const char *name); /* or NULL */

#endif
