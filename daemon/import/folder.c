/*
 * Names in an index are untrusted: a shard must be a plain name in this folder.
 */
#include "import/folder.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* config.json and similar files have kilobytes; an index names every tensor; the largest tokenizer.json has 35 MiB. */
#define SMALL_BYTES_MAX     (16u << 20)
#define INDEX_BYTES_MAX     (64u << 20)
#define TOKENIZER_BYTES_MAX (256u << 20)
#define SHARDS_MAX          2048u

#define ONE_FILE "model.safetensors"
#define INDEX    "model.safetensors.index.json"
#define ENDING   ".safetensors"

void folder_close(struct folder *folder)
{
    if (!folder) {
        return;
    }
    for (size_t i = 0; i < folder->n_shards; i++) {
        st_close(folder->shards[i]);
    }
    mem_free(folder->shards);
    mem_free(folder->template_file);
    json_decref(folder->generation);
    json_decref(folder->tokenizer_config);
    json_decref(folder->tokenizer);
    json_decref(folder->config);
    mem_free(folder->path);
    mem_free(folder);
}

void folder_closep(struct folder **folder)
{
    folder_close(*folder);
    *folder = NULL;
}

const struct st_tensor *folder_find(const struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->n_shards; i++) {
        const struct st_tensor *tensor = st_find(folder->shards[i], name);

        if (tensor) {
            return tensor;
        }
    }
    return NULL;
}

/* Writes the path of a file in the folder. False: it is too long. */
static bool name_file(const struct folder *folder, const char *name, char path[PATH_MAX])
{
    return (size_t)snprintf(path, PATH_MAX, "%s/%s", folder->path, name) < PATH_MAX;
}

/* Reads a JSON file of the folder into *ret, which stays NULL if there is no such file. */
static int read_json(const struct folder *folder, const char *name, size_t max_bytes, json_t **ret, struct diag *diag)
{
    struct diag why = DIAG_INIT;
    char path[PATH_MAX];
    bool is_absent = false;

    if (!name_file(folder, name, path)) {
        diag_set(diag, "%s: the path is too long", folder->path);
        return FOLDER_REFUSED;
    }
    *ret = json_parse_file(path, max_bytes, &is_absent, &why);
    if (!*ret && !is_absent) {
        diag_set(diag, "%s", why.text);
        return FOLDER_REFUSED;
    }
    return FOLDER_OK;
}

static int read_template(struct folder *folder, struct diag *diag)
{
    struct diag why = DIAG_INIT;
    char path[PATH_MAX];
    int r;

    if (!name_file(folder, "chat_template.jinja", path)) {
        return FOLDER_REFUSED;
    }
    r = file_read(path, MEM_FILE, SMALL_BYTES_MAX, &folder->template_file, &folder->n_template, &why);
    if (r == FILE_REFUSED) {
        diag_set(diag, "%s", why.text);
        return FOLDER_REFUSED;
    }
    return r < 0 ? err_up(r) : FOLDER_OK;
}

static int add_shard(struct folder *folder, const char *name, struct diag *diag)
{
    char path[PATH_MAX];
    struct st **shards;
    int r;

    if (!name_file(folder, name, path)) {
        diag_set(diag, "%s: the path is too long", folder->path);
        return FOLDER_REFUSED;
    }
    shards = mem_realloc(MEM_FILE, folder->shards, (folder->n_shards + 1) * sizeof(struct st *));
    if (!shards) {
        return err_new(-ENOMEM);
    }
    folder->shards = shards;
    r = st_open(&folder->shards[folder->n_shards], path, diag);
    if (r) {
        return r < 0 ? err_up(r) : FOLDER_REFUSED;
    }
    folder->n_shards++;
    return FOLDER_OK;
}

static const struct st *find_shard(const struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->n_shards; i++) {
        const char *path = st_path(folder->shards[i]);

        if (strcmp(path + strlen(folder->path) + 1, name) == 0) {
            return folder->shards[i];
        }
    }
    return NULL;
}

static bool is_shard_name(const char *name)
{
    const size_t n = name ? strlen(name) : 0;

    return n > strlen(ENDING) && !strchr(name, '/') && *name != '.' && strcmp(name + n - strlen(ENDING), ENDING) == 0;
}

/* Opens the files that the index names, and checks that each tensor lies where the index says. */
static int open_indexed(struct folder *folder, const json_t *index, struct diag *diag)
{
    json_t *places = json_object_get(index, "weight_map");
    const char *tensor;
    json_t *value;

    if (!json_is_object(places) || json_object_size(places) == 0) {
        diag_set(diag, "%s/" INDEX ": has no weight_map", folder->path);
        return FOLDER_REFUSED;
    }
    json_object_foreach(places, tensor, value)
    {
        const char *name = json_string_value(value);
        const struct st *shard;

        if (!is_shard_name(name)) {
            diag_set(diag, "%s/" INDEX ": tensor %.80s lies in no file NAME" ENDING " of this folder", folder->path,
                     tensor);
            return FOLDER_REFUSED;
        }
        shard = find_shard(folder, name);
        if (!shard) {
            if (folder->n_shards == SHARDS_MAX) {
                diag_set(diag, "%s/" INDEX ": names more than %u files", folder->path, SHARDS_MAX);
                return FOLDER_REFUSED;
            }
            const int r = add_shard(folder, name, diag);

            if (r) {
                return r;
            }
            shard = folder->shards[folder->n_shards - 1];
        }
        if (!st_find(shard, tensor)) {
            diag_set(diag, "%s/" INDEX ": says that tensor %.80s lies in %.80s, but it does not", folder->path, tensor,
                     name);
            return FOLDER_REFUSED;
        }
    }
    return FOLDER_OK;
}

/* Refuses a tensor that lies in two files, since the model would depend on which is read first. */
static int check_once(const struct folder *folder, struct diag *diag)
{
    for (size_t i = 1; i < folder->n_shards; i++) {
        for (size_t k = 0; k < st_n_tensors(folder->shards[i]); k++) {
            const struct st_tensor *tensor = st_tensor_at(folder->shards[i], k);
            const struct st_tensor *first = folder_find(folder, tensor->name);

            if (first != tensor) {
                diag_set(diag, "tensor %.80s lies in %s and again in %s", tensor->name, st_path(first->file),
                         st_path(tensor->file));
                return FOLDER_REFUSED;
            }
        }
    }
    return FOLDER_OK;
}

static int open_weights(struct folder *folder, struct diag *diag)
{
    cleanup(json_freep) json_t *index = NULL;
    char path[PATH_MAX];
    int r = read_json(folder, INDEX, INDEX_BYTES_MAX, &index, diag);

    if (r) {
        return r;
    }
    if (index) {
        r = open_indexed(folder, index, diag);
        return r ? r : check_once(folder, diag);
    }
    if (!name_file(folder, ONE_FILE, path) || access(path, F_OK) != 0) {
        diag_set(diag,
                 "%s: has neither " ONE_FILE " nor " INDEX "; weights in other forms (.bin, .pth) are programs as "
                 "much as data and are not read: save the model as safetensors",
                 folder->path);
        return FOLDER_REFUSED;
    }
    return add_shard(folder, ONE_FILE, diag);
}

static int read_texts(struct folder *folder, struct diag *diag)
{
    int r = read_json(folder, "config.json", SMALL_BYTES_MAX, &folder->config, diag);

    if (!r && !folder->config) {
        diag_set(diag, "%s: has no config.json: is it the folder of a model?", folder->path);
        return FOLDER_REFUSED;
    }
    if (!r) {
        const json_t *text = json_object_get(folder->config, "text_config");

        folder->text = json_is_object(text) ? text : folder->config;
        r = read_json(folder, "tokenizer.json", TOKENIZER_BYTES_MAX, &folder->tokenizer, diag);
    }
    if (!r && !folder->tokenizer) {
        diag_set(diag,
                 "%s: has no tokenizer.json; a tokenizer.model alone is not read: save the tokenizer with the "
                 "transformers library, which writes the other form",
                 folder->path);
        return FOLDER_REFUSED;
    }
    r = r ? r : read_json(folder, "tokenizer_config.json", SMALL_BYTES_MAX, &folder->tokenizer_config, diag);
    r = r ? r : read_json(folder, "generation_config.json", SMALL_BYTES_MAX, &folder->generation, diag);
    return r ? r : read_template(folder, diag);
}

int folder_open(struct folder **ret_folder, const char *path, struct diag *diag)
{
    cleanup(folder_closep) struct folder *folder = mem_calloc(MEM_FILE, 1, sizeof(*folder));
    size_t n = strlen(path);
    int r;

    if (!folder) {
        return err_new(-ENOMEM);
    }
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    folder->path = mem_strndup(MEM_FILE, path, n);
    if (!folder->path) {
        return err_new(-ENOMEM);
    }
    r = read_texts(folder, diag);
    r = r ? r : open_weights(folder, diag);
    if (r) {
        return r < 0 ? err_up(r) : FOLDER_REFUSED;
    }
    *ret_folder = steal(&folder);
    return FOLDER_OK;
}
