#include "gguf/parse.h"
#include <inttypes.h>

int parse_short(struct parse *parse, const char *what, uint64_t i)
{
    const struct cursor *cursor = &parse->cursor;

    if (cursor->wanted > parse->gguf->file_bytes) {
        diag_set(parse->diag,
                 "%s %" PRIu64 ": extends to byte %" PRIu64 " or further, but the file ends at %" PRIu64
                 "; it is cut or damaged, fetch it again",
                 what, i, cursor->wanted, parse->gguf->file_bytes);
        return GGUF_REFUSED;
    }
    parse->wanted = cursor->wanted;
    return GGUF_MORE;
}

struct gguf_text parse_text(struct parse *parse)
{
    const uint64_t n = cursor_u64(&parse->cursor);
    const uint8_t *bytes = cursor_take(&parse->cursor, n);

    return (struct gguf_text){ .bytes = (const char *)bytes, .n = bytes ? (size_t)n : 0 };
}

uint32_t gguf_type_bytes(enum gguf_type type)
{
    static const uint8_t bytes[GGUF_TYPE_COUNT] = {
        [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
        [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
    };

    return bytes[type];
}
