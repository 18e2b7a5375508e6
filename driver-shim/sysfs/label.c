#include "sysfs/label.h"
#include "base/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void label_format(char *text, size_t cap, const char *format, ...)
{
    char raw[1024];
    va_list args;
    size_t n;
    int printed;

    va_start(args, format);
    printed = vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    n = printed < 0 ? 0 : strnlen(raw, sizeof(raw));
    text[utf8_mend_line((const uint8_t *)raw, n, (uint8_t *)text, cap - 1)] = '\0';
}
