/*
 * Convert: makes a GGUF file from a model folder of the Hugging Face libraries
 *
 * The import decides which tensors the file has; here each gets its format and its bytes. Without --type every number
 * is kept. With it the matrices are written in that format; norms, biases and factors stay F32, and a matrix with rows
 * that are not whole blocks of the format is written as F16.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/import.h"
#include "kern/quant.h"
#include "tool/mix.h"
#include "tool/survey.h"
#include "tool/table.h"
#include <errno.h>
#include <inttypes.h>
#include <strings.h>

enum convert_row { ROW_TYPE = TOOL_ROWS_COUNT, ROW_FORCE };

static const struct arg_row rows[] = {
    TOOL_ROWS,
    { "type", 0, ARG_TEXT, "FORMAT", NULL,
      "write matrices in this format (default: as stored): F32, F16, BF16, Q8_0, ..." },
    { "force", 0, ARG_FLAG, NULL, NULL, "overwrite OUT.gguf if it exists" },
    { NULL },
};

#define TYPE_STORED   ELEM_TYPE_COUNT
#define PIECE_FLOATS  (2u << 20) /* floats that are read at once: 8 MiB */
#define QUANT_VERSION 2          /* version of the block layouts in GGUF */

struct conversion {
    const struct tool_call *call;
    const char *from;
    const char *to;
    uint32_t type; /* of matrices, or TYPE_STORED */
    bool force;
    struct import *import;
    uint64_t n_bytes;    /* of data written */
    uint32_t n_fallback; /* matrices that do not fit the format */
};

static uint32_t type_of(const struct conversion *conversion, const struct import_tensor *tensor)
{
    uint64_t n_bytes;

    if (tensor->is_floats) {
        return ELEM_F32;
    }
    if (conversion->type == TYPE_STORED) {
        return tensor->type;
    }
    return elem_row_bytes(conversion->type, tensor->n_cols, &n_bytes) ? conversion->type : ELEM_F16;
}

/* ---- the head ---- */

/* Returns the format that most elements of matrices have. */
static uint32_t main_type(const struct conversion *conversion)
{
    uint64_t n_elems[ELEM_TYPE_COUNT] = { 0 };
    uint32_t best = ELEM_F32;

    for (size_t i = 0; i < import_n_tensors(conversion->import); i++) {
        const struct import_tensor *tensor = import_tensor_at(conversion->import, i);

        if (!tensor->is_floats) {
            n_elems[type_of(conversion, tensor)] += tensor->n_cols * tensor->n_rows;
        }
    }
    for (uint32_t type = 0; type < ELEM_TYPE_COUNT; type++) {
        best = n_elems[type] > n_elems[best] ? type : best;
    }
    return best;
}

static void put_formats(const struct conversion *conversion)
{
    struct gguf_writer *writer = import_writer(conversion->import);
    const uint32_t type = main_type(conversion);

    gguf_put_u32(writer, "general.file_type", mix_file_type(type));
    if (elem_info(type)->n_block > 1) {
        gguf_put_u32(writer, "general.quantization_version", QUANT_VERSION);
    }
}

static void put_tensors(struct conversion *conversion)
{
    for (size_t i = 0; i < import_n_tensors(conversion->import); i++) {
        const struct import_tensor *tensor = import_tensor_at(conversion->import, i);
        const uint64_t dims[] = { tensor->n_cols, tensor->n_rows };
        const uint32_t type = type_of(conversion, tensor);

        gguf_put_tensor(import_writer(conversion->import),
                        (struct gguf_text){ .bytes = tensor->name, .n = strlen(tensor->name) }, type, tensor->n_dims,
                        dims);
        conversion->n_fallback += !tensor->is_floats && conversion->type != TYPE_STORED && type != conversion->type;
    }
}

/* ---- the data ---- */

static int refuse_row(const struct import_tensor *tensor, uint32_t type, struct diag *diag)
{
    diag_set(diag, "tensor %s has infinities or NaNs, which %s can't store; convert to F32", tensor->name,
             elem_info(type)->name);
    return IMPORT_REFUSED;
}

/* Writes @n rows from row @first on; @floats and @bytes are buffers. */
static int write_piece(struct conversion *conversion, size_t i, uint64_t first, uint64_t n, float *floats,
                       uint8_t *bytes, struct diag *diag)
{
    const struct import_tensor *tensor = import_tensor_at(conversion->import, i);
    const uint32_t type = type_of(conversion, tensor);
    uint64_t row_bytes = 0;
    int r;

    elem_row_bytes(type, tensor->n_cols, &row_bytes);
    if (type == tensor->type && elem_info(type)->n_block > 1) {
        r = import_blocks(conversion->import, i, first, n, bytes, diag);
    } else {
        r = import_rows(conversion->import, i, first, n, floats, diag);
        for (uint64_t row = 0; !r && row < n; row++) {
            if (quant_row(type, floats + row * tensor->n_cols, tensor->n_cols, bytes + row * row_bytes)) {
                return refuse_row(tensor, type, diag);
            }
        }
    }
    if (r) {
        return r < 0 ? err_up(r) : IMPORT_REFUSED;
    }
    gguf_write_data(import_writer(conversion->import), bytes, n * row_bytes);
    conversion->n_bytes += n * row_bytes;
    return IMPORT_OK;
}

static int write_tensor(struct conversion *conversion, size_t i, struct diag *diag)
{
    const struct import_tensor *tensor = import_tensor_at(conversion->import, i);
    const uint64_t n = tensor->n_cols > PIECE_FLOATS ? 1 : PIECE_FLOATS / tensor->n_cols;
    /* No format is wider than a float. */
    cleanup(mem_freep) float *floats = mem_calloc(MEM_SCRATCH, n * tensor->n_cols, sizeof(float));
    cleanup(mem_freep) uint8_t *bytes = mem_calloc(MEM_SCRATCH, n * tensor->n_cols, sizeof(float));

    if (!floats || !bytes) {
        return err_new(-ENOMEM);
    }
    for (uint64_t row = 0; row < tensor->n_rows; row += n) {
        const uint64_t n_left = tensor->n_rows - row;
        const int r = write_piece(conversion, i, row, n_left < n ? n_left : n, floats, bytes, diag);

        if (r) {
            return r;
        }
    }
    return IMPORT_OK;
}

static int write_file(struct conversion *conversion, struct diag *diag)
{
    struct gguf_writer *writer = import_writer(conversion->import);
    const size_t n = import_n_tensors(conversion->import);
    int r;

    put_formats(conversion);
    put_tensors(conversion);
    r = gguf_writer_begin(writer, conversion->to, conversion->force, diag);
    for (size_t i = 0; !r && i < n; i++) {
        tool_progress("tensor", i, n);
        r = write_tensor(conversion, i, diag);
    }
    tool_progress("tensor", n, n);
    return r ? r : gguf_writer_finish(writer, diag);
}

/* ---- the command ---- */

static int report(const struct conversion *conversion)
{
    const size_t n = import_n_tensors(conversion->import);
    const char *family = import_family(conversion->import);
    const char *type = elem_info(main_type(conversion))->name;
    char bytes[TOOL_BYTES];

    if (conversion->call->json) {
        return tool_print(conversion->call,
                          json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "file", conversion->to, "family", family,
                                    "format", type, "tensors", (json_int_t)n, "bytes", (json_int_t)conversion->n_bytes,
                                    "f16_instead", (json_int_t)conversion->n_fallback));
    }
    printf("%s: %s, %zu tensors, %s, mostly %s\n", conversion->to, family, n, tool_bytes(conversion->n_bytes, bytes),
           type);
    if (conversion->n_fallback) {
        printf("%u matrices have rows that are not whole blocks of %s and are F16\n", conversion->n_fallback,
               elem_info(conversion->type)->name);
    }
    return tool_flush(conversion->call);
}

static int convert(struct conversion *conversion)
{
    struct diag diag = DIAG_INIT;
    const char *about = NULL;
    uint64_t n_bytes;
    int r = import_open(&conversion->import, conversion->from, &diag);

    if (r) {
        return tool_fail(conversion->call, NULL, &diag, r);
    }
    r = write_file(conversion, &diag);
    if (!r) {
        about = conversion->to;
        r = survey_new_file(conversion->to, true, &n_bytes, &diag);
    }
    r = r ? tool_fail(conversion->call, about, &diag, r) : report(conversion);
    import_close(conversion->import);
    return r;
}

/* Returns the writable format of that name, or TYPE_STORED. */
static uint32_t find_type(const char *name)
{
    for (uint32_t type = 0; type < ELEM_TYPE_COUNT; type++) {
        if (elem_info(type) && quant_may(type) && strcasecmp(elem_info(type)->name, name) == 0) {
            return type;
        }
    }
    return TYPE_STORED;
}

static int run(struct tool_call *call, struct args *args)
{
    struct conversion conversion = { .call = call, .type = TYPE_STORED };
    const char *type = NULL;
    const struct tool_value values[] = {
        { ROW_TYPE, .text = &type },
        { ROW_FORCE, .flag = &conversion.force },
        { TOOL_OPERAND, "DIR", &conversion.from },
        { TOOL_OPERAND, "OUT.gguf", &conversion.to },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    if (r != TOOL_READ) {
        return r;
    }
    if (type) {
        conversion.type = find_type(type);
        if (conversion.type == TYPE_STORED) {
            return tool_usage(call, "--type: \"%s\" is not a format that can be written, such as F16 or Q8_0", type);
        }
    }
    return convert(&conversion);
}

const struct tool tool_convert = {
    .name = "convert",
    .summary = "make a GGUF file from a Hugging Face folder",
    .operands = "DIR OUT.gguf",
    .about = "Reads config.json, tokenizer.json and the safetensors files of DIR and writes the same model as\n"
             "one GGUF file, with its vocabulary and chat template. Without --type every number is kept\n"
             "exactly; AWQ weights (4 bits with zero points) become Q5_0, or Q4_0 if all zero points are 8,\n"
             "without loss.",
    .rows = rows,
    .run = run,
};
