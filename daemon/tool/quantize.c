/*
 * Quantize: writes a model file in fewer bits
 *
 * All keys are kept except those that describe the format; matrices get the formats of the mix, other tensors do not
 * change. The new file appears complete, at the end, and is then checked as a load would: if sotto could run the old
 * file, it must run the new one.
 */
#include "base/clean.h"
#include "base/err.h"
#include "model/arch.h"
#include "tool/mix.h"
#include "tool/requant.h"
#include "tool/survey.h"
#include "tool/table.h"
#include <errno.h>
#include <string.h>

#define QUANTISATION_VERSION 2 /* version of the block layouts: key general.quantization_version */

enum quantize_row {
    QUANTIZE_FORCE = TOOL_ROWS_COUNT,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [QUANTIZE_FORCE] = { "force", 0, ARG_FLAG, NULL, NULL, "replace OUT.gguf if it exists" },
    { NULL },
};

struct request {
    const char *in;
    const char *out;
    const struct mix *mix;
    bool force;
};

struct work {
    const struct tool_call *call;
    struct request request;
    struct model_file file;
    struct survey survey;
    struct gguf_writer *writer;
    struct requant *requant;
    struct requant_cost cost;
    uint64_t n_rounded; /* tensors */
    const char *about;  /* the file at fault; NULL: @diag names it */
    struct diag diag;
};

static bool is_named(struct gguf_text name, const char *text)
{
    return name.n == strlen(text) && memcmp(name.bytes, text, name.n) == 0;
}

/* Returns the new format of @tensor. */
static uint32_t type_of(const struct work *work, const struct gguf_tensor *tensor)
{
    const struct survey *survey = &work->survey;
    const struct arch_tensor *row =
        survey->has_params ? arch_find_row(survey->arch, &survey->params, tensor->name) : NULL;
    bool is_output = is_named(tensor->name, "output.weight") ||
                     (is_named(tensor->name, "token_embd.weight") && !gguf_find_tensor(survey->gguf, "output.weight"));

    if (!mix_may_round(tensor) || (row && row->flags & ARCH_FLOATS)) {
        return tensor->type;
    }
    return mix_type(work->request.mix, tensor, survey->has_params ? survey->params.n_layers : 0, is_output);
}

static void put_head(struct work *work)
{
    static const char *const own[] = { "general.file_type", "general.quantization_version", "general.alignment" };
    const struct gguf *gguf = work->file.gguf;

    for (size_t i = 0; i < gguf_n_keys(gguf); i++) {
        const struct gguf_key *key = gguf_key_at(gguf, i);
        bool is_own = false;

        for (size_t j = 0; j < COUNTOF(own); j++) {
            is_own = is_own || is_named(key->name, own[j]);
        }
        if (!is_own) {
            gguf_put_key(work->writer, key);
        }
    }
    gguf_put_u32(work->writer, "general.file_type", work->request.mix->file_type);
    gguf_put_u32(work->writer, "general.quantization_version", QUANTISATION_VERSION);
    for (size_t i = 0; i < gguf_n_tensors(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);

        gguf_put_tensor(work->writer, tensor->name, type_of(work, tensor), tensor->n_dims, tensor->dims);
    }
}

/* Returns whether every tensor to be rounded can be unpacked: some formats are only known by name. */
static bool may_read_all(struct work *work)
{
    for (size_t i = 0; i < gguf_n_tensors(work->file.gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(work->file.gguf, i);

        if (tensor->in_panels) {
            diag_set(&work->diag, "the file is packed for computing; quantize the file that it was made of");
            return false;
        }
        if (type_of(work, tensor) != tensor->type && !elem_info(tensor->type)->computes) {
            diag_set(&work->diag, "tensor %.*s has the format %s, which sotto can't read", (int)tensor->name.n,
                     tensor->name.bytes, elem_info(tensor->type)->name);
            return false;
        }
    }
    return true;
}

static int put_data(struct work *work)
{
    const struct gguf *gguf = work->file.gguf;
    size_t n = gguf_n_tensors(gguf);

    for (size_t i = 0; i < n; i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        uint32_t type = type_of(work, tensor);
        int r;

        tool_progress("tensor", i, n);
        r = requant_tensor(work->requant, tensor, work->file.map + tensor->offset, type, work->writer, &work->cost);
        if (r == REQUANT_NOT_FINITE) {
            diag_set(&work->diag, "tensor %.*s has infinities or NaNs, which %s can't store", (int)tensor->name.n,
                     tensor->name.bytes, elem_info(type)->name);
        }
        if (r) {
            return r;
        }
        work->n_rounded += type != tensor->type;
    }
    tool_progress("tensor", n, n);
    return 0;
}

/* Writes the new file. Returns 0, a fault, or any outcome above 0 with the sentence in work->diag. */
static int write_file(struct work *work)
{
    int r = gguf_writer_create(&work->writer);

    if (!r) {
        r = requant_create(&work->requant);
    }
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
    const struct survey *survey = &work->survey;
    double loss = requant_loss(&work->cost);
    char before[TOOL_BYTES];
    char after[TOOL_BYTES];
    json_t *object;

    if (!work->call->json) {
        printf("%s: %s of tensors, from %s; %llu of %zu tensors rounded; weights off by %.3f %% (root mean "
               "square)\n",
               work->request.out, tool_bytes(n_bytes, after), tool_bytes(survey->n_bytes, before),
               (unsigned long long)work->n_rounded, gguf_n_tensors(survey->gguf), 100 * loss);
        return tool_flush(work->call);
    }
    object = json_object();
    json_object_set_new(object, "file", tool_text(work->request.out, strlen(work->request.out)));
    json_object_set_new(object, "type", json_string(work->request.mix->name));
    json_object_set_new(object, "tensor_bytes", tool_number(n_bytes));
    json_object_set_new(object, "tensor_bytes_before", tool_number(survey->n_bytes));
    json_object_set_new(object, "tensors", tool_number(gguf_n_tensors(survey->gguf)));
    json_object_set_new(object, "tensors_rounded", tool_number(work->n_rounded));
    json_object_set_new(object, "relative_error", json_real(loss));
    return tool_print(work->call, object);
}

static int quantize(const struct tool_call *call, const struct request *request)
{
    struct work work = { .call = call, .request = *request, .file = { .fd = -1 }, .diag = DIAG_INIT };
    uint64_t n_bytes = 0;
    int r = model_file_open(&work.file, request->in, &work.diag);

    work.about = request->in;
    if (!r) {
        r = survey_create(&work.survey, &work.file);
    }
    if (!r) {
        r = may_read_all(&work) ? write_file(&work) : MODEL_FILE_REFUSED;
    }
    gguf_writer_destroy(work.writer);
    requant_destroy(work.requant);
    if (!r) {
        work.about = request->out;
        r = survey_new_file(request->out, survey_runs(&work.survey), &n_bytes, &work.diag);
    }
    r = r ? tool_fail(call, work.about, &work.diag, r) : report(&work, n_bytes);
    survey_finish(&work.survey);
    model_file_close(&work.file);
    return r;
}

static int bad_type(const struct tool_call *call, const char *name)
{
    char list[256] = "";
    size_t n = 0;

    for (const struct mix *mix = mixes; mix->name && n < sizeof(list); mix++) {
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", mix->name);
    }
    return tool_usage(call, "\"%s\" is not one of %s", name, list);
}

static int run(struct tool_call *call, struct args *args)
{
    struct request request = { .in = NULL };
    const char *type = NULL;
    const struct tool_value values[] = {
        { QUANTIZE_FORCE, .flag = &request.force },
        { TOOL_OPERAND, "IN.gguf", &request.in },
        { TOOL_OPERAND, "OUT.gguf", &request.out },
        { TOOL_OPERAND, "TYPE", &type },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    if (r != TOOL_READ) {
        return r;
    }
    request.mix = mix_find(type);
    return request.mix ? quantize(call, &request) : bad_type(call, type);
}

const struct tool tool_quantize = {
    .name = "quantize",
    .summary = "write a model file in fewer bits",
    .operands = "IN.gguf OUT.gguf TYPE",
    .about = "Writes the matrices of a model in another format: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1,\n"
             "IQ4_NL, IQ4_XS, Q2_K, Q3_K_S, Q3_K_M, Q4_K_S, Q4_K_M, Q5_K_S, Q5_K_M or Q6_K. Below 8 bits the\n"
             "output is Q6_K; the _M types store values and the down-projection more finely in half of the\n"
             "layers. Rows that are not whole blocks get a format with smaller blocks, or F16. Norms and biases\n"
             "do not change. OUT.gguf appears complete, at the end.",
    .rows = rows,
    .run = run,
};
