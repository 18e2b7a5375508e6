/*
 * The list of all tables: what templates can call.
 */
#include "jinja/jinja_builtin.h"

const struct jinja_library jinja_library_all = {
    .filters = { jinja_filters_text, jinja_filters_number, jinja_filters_list },
    .tests = jinja_tests,
    .globals = jinja_globals,
    .methods = {
        [JINJA_STRING] = jinja_methods_str,
        [JINJA_DICT] = jinja_methods_dict,
        [JINJA_LIST] = jinja_methods_list,
        [JINJA_LOOP] = jinja_methods_loop,
    },
};
