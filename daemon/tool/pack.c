/*
 * Pack: writes a model file in the order in which kernels read weights
 *
 * Matrices in blocks become panels of sixteen rows (tensor/panel.h); everything else is copied. The file has the same
 * weights, bit for bit, in as many bytes, and gives the same tokens; a step reads it two to three times as fast. The
 * new file appears complete, at the end, and is then checked as a load would: if sotto could run the old file, it must
 * run the new one.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "gguf/write.h"
#include "tensor/panel.h"
#include "tool/survey.h"
#include "tool/table.h"
#include <errno.h>
#include <string.h>

#define ALIGN_DATA 64 /* a panel's words fill a line of the cache */

enum pack_row {
    PACK_FORCE = TOOL_ROWS_COUNT,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [PACK_FORCE] = { "force", 0, ARG_FLAG, NULL, NULL, "replace OUT.gguf if it exists" },
    { NULL },
};

struct request {
    const char *in;
    const char *out;
    bool force;
};

struct work {
    const struct tool_call *call;
    struct request request;
    struct model_file file;
    struct survey survey;
    struct gguf_writer *writer;
    uint64_t n_packed; /* tensors */
    const char *about; /* the file at fault; NULL: @diag names it */
    struct diag diag;
};

static bool may_pack(const struct gguf_tensor *tensor)
{
    return !tensor->in_panels && elem_info(tensor->type)->computes && elem_info(tensor->type)->n_block > 1 &&
           tensor->n_dims == 2 && tensor->dims[1] % ELEM_PANEL_ROWS == 0 && tensor->dims[0] <= UINT32_MAX;
}

static uint32_t type_of(const struct gguf_tensor *tensor)
{
    return tensor->type | (tensor->in_panels || may_pack(tensor) ? ELEM_PANELS : 0);
}

static void put_head(struct work *work)
{
    static const char align[] = "general.alignment";
    const struct gguf *gguf = work->file.gguf;

    gguf_writer_align(work->writer, ALIGN_DATA);
    for (size_t i = 0; i < gguf_n_keys(gguf); i++) {
        const struct gguf_key *key = gguf_key_at(gguf, i);

        if (key->name.n != strlen(align) || memcmp(key->name.bytes, align, key->name.n) != 0) {
            gguf_put_key(work->writer, key);
        }
    }
    for (size_t i = 0; i < gguf_n_tensors(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);

        gguf_put_tensor(work->writer, tensor->name, type_of(tensor), tensor->n_dims, tensor->dims);
    }
}

/* Writes @tensor, with its rows at @bytes, a panel at a time. */
static int put_panels(struct work *work, const struct gguf_tensor *tensor, const uint8_t *bytes)
{
    const size_t n_panels = tensor->dims[1] / ELEM_PANEL_ROWS;
    const size_t n_bytes = tensor->n_bytes / n_panels;
    uint8_t *panel = mem_calloc(MEM_SCRATCH, 1, n_bytes);

    if (!panel) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n_panels; i++) {
        panel_pack(tensor->type, bytes + i * n_bytes, (uint32_t)tensor->dims[0], panel);
        gguf_write_data(work->writer, panel, n_bytes);
    }
    mem_free(panel);
    return 0;
}

static int put_data(struct work *work)
{
    const struct gguf *gguf = work->file.gguf;
    uint64_t n_done = 0;

    for (size_t i = 0; i < gguf_n_tensors(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        const uint8_t *bytes = work->file.map + tensor->offset;
        int r = 0;

        tool_progress("byte", n_done, work->survey.n_bytes);
        if (may_pack(tensor)) {
            r = put_panels(work, tensor, bytes);
            work->n_packed++;
        } else if (tensor->n_bytes > 0) {
            gguf_write_data(work->writer, bytes, tensor->n_bytes);
        }
        if (r) {
            return err_up(r);
        }
        n_done += tensor->n_bytes;
    }
    tool_progress("byte", n_done, work->survey.n_bytes);
    return 0;
}

/* Writes the new file. Returns 0, a fault, or any outcome above 0 with the sentence in work->diag. */
static int write_file(struct work *work)
{
    int r = gguf_writer_create(&work->writer);

    if (r) {
        return err_up(r);
    }
    put_head(work);
    work->about = NULL;
    r = model_file_begin(work->writer, work->request.out, work->request.force, &work->diag);
    if (!r) {
        work->about = work->request.in;
        r = put_data(work);
    }
    if (!r) {
        work->about = NULL;
        r = gguf_writer_finish(work->writer, &work->diag);
    }
    return r;
}

static int report(const struct work *work, uint64_t n_bytes)
{
    char size[TOOL_BYTES];
    json_t *object;

    if (!work->call->json) {
        printf("%s: %s of tensors; %llu of %zu tensors packed\n", work->request.out, tool_bytes(n_bytes, size),
               (unsigned long long)work->n_packed, gguf_n_tensors(work->file.gguf));
        return tool_flush(work->call);
    }
    object = json_object();
    json_object_set_new(object, "file", tool_text(work->request.out, strlen(work->request.out)));
    json_object_set_new(object, "tensor_bytes", tool_number(n_bytes));
    json_object_set_new(object, "tensors", tool_number(gguf_n_tensors(work->file.gguf)));
    json_object_set_new(object, "tensors_packed", tool_number(work->n_packed));
    return tool_print(work->call, object);
}

static int pack(const struct tool_call *call, const struct request *request)
{
    struct work work = { .call = call, .request = *request, .file = { .fd = -1 }, .diag = DIAG_INIT };
    uint64_t n_bytes = 0;
    int r = model_file_open(&work.file, request->in, &work.diag);

    work.about = request->in;
    if (!r) {
        r = survey_create(&work.survey, &work.file);
    }
    if (!r) {
        r = write_file(&work);
    }
    gguf_writer_destroy(work.writer);
    if (!r) {
        work.about = request->out;
        r = survey_new_file(request->out, survey_runs(&work.survey), &n_bytes, &work.diag);
    }
    r = r ? tool_fail(call, work.about, &work.diag, r) : report(&work, n_bytes);
    survey_finish(&work.survey);
    model_file_close(&work.file);
    return r;
}

static int run(struct tool_call *call, struct args *args)
{
    struct request request = { .in = NULL };
    const struct tool_value values[] = {
        { PACK_FORCE, .flag = &request.force },
        { TOOL_OPERAND, "IN.gguf", &request.in },
        { TOOL_OPERAND, "OUT.gguf", &request.out },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    return r == TOOL_READ ? pack(call, &request) : r;
}

const struct tool tool_pack = {
    .name = "pack",
    .summary = "write a model file in the order in which it is computed",
    .operands = "IN.gguf OUT.gguf",
    .about = "Writes the same model with the rows of its matrices in panels of sixteen, as processors with AVX-512\n"
             "VNNI want them. The tokens are the same, bit for bit, and so is the size; a token takes half of the\n"
             "time or less. Other programs can't read such a file, and processors without these instructions\n"
             "read it more slowly than IN.gguf. OUT.gguf appears complete, at the end.",
    .rows = rows,
    .run = run,
};
