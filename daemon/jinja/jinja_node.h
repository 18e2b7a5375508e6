/*
 * Jinja nodes: the tree of a template
 *
 * All nodes are of one struct; the comments below say which members each kind uses. Lists are linked by @next. The tree
 * lies in the arena of its template and is read-only once compiled.
 */
#ifndef SOTTO_JINJA_JINJA_NODE_H
#define SOTTO_JINJA_JINJA_NODE_H

#include "base/arena.h"
#include "jinja/jinja_value.h"

enum jinja_node_kind {
    /* Expressions. */
    JINJA_CONST,    /* @value */
    JINJA_NAME,     /* @name; @builtin: the function of this name, used where no variable has it */
    JINJA_LIST_OF,  /* @list of expressions */
    JINJA_TUPLE_OF, /* @list of expressions */
    JINJA_DICT_OF,  /* @list of JINJA_PAIR_OF */
    JINJA_PAIR_OF,  /* @a: @b */
    JINJA_ATTR,     /* @a . @name */
    JINJA_ITEM,     /* @a [ @b ] */
    JINJA_SLICE,    /* @a [ @list of three, JINJA_CONST none where omitted ] */
    JINJA_CALL,     /* @a ( @list of JINJA_ARG ) */
    JINJA_ARG,      /* @a; @name: by keyword; @n_stars 1 or 2: *@a or **@a */
    JINJA_FILTER,   /* @a | @name ( @list ); @a NULL: the text of a block; @builtin NULL: unknown */
    JINJA_TEST,     /* @a is @name ( @list ); @builtin NULL: unknown */
    JINJA_NOT,
    JINJA_NEG,
    JINJA_POS,
    JINJA_ADD, /* @a + @b, and so on */
    JINJA_SUB,
    JINJA_MUL,
    JINJA_DIV,
    JINJA_FLOOR_DIV,
    JINJA_MOD,
    JINJA_POW,
    JINJA_CONCAT, /* ~ of @list */
    JINJA_AND,
    JINJA_OR,
    JINJA_COMPARE, /* @a, then @list of JINJA_OPERAND */
    JINJA_OPERAND, /* @sign @a */
    JINJA_COND,    /* @a if @b else @c; @c may be NULL */
    /* Statements. */
    JINJA_TEXT,         /* @value */
    JINJA_PRINT,        /* @a */
    JINJA_IF,           /* @list of JINJA_BRANCH, then @orelse */
    JINJA_BRANCH,       /* @a: @body */
    JINJA_FOR,          /* for @a in @b if @c: @body, else @orelse; @flag: recursive */
    JINJA_SET,          /* @a = @b */
    JINJA_SET_BLOCK,    /* @a = @body, through the filter @b or NULL */
    JINJA_MACRO_DEF,    /* @name, @list of JINJA_PARAM, @body */
    JINJA_PARAM,        /* @name, default @a or NULL */
    JINJA_CALL_BLOCK,   /* @list of JINJA_PARAM, call @a, @body */
    JINJA_FILTER_BLOCK, /* filter @b over @body */
    JINJA_WITH,         /* @list of JINJA_SET, @body */
    JINJA_BREAK,
    JINJA_CONTINUE,
    JINJA_GROUP, /* @body */
};

struct jinja_node {
    enum jinja_node_kind kind;
    uint32_t line;
    struct jinja_node *next;
    const struct jinja_string *name;
    const char *sign;
    struct jinja_node *a;
    struct jinja_node *b;
    struct jinja_node *c;
    struct jinja_node *list;
    struct jinja_node *body;
    struct jinja_node *orelse;
    const struct jinja_builtin *builtin;
    struct jinja_value value;
    uint8_t n_stars;
    bool flag;
};

struct jinja_library;

/* A compiled template. */
struct jinja {
    struct arena arena; /* source, names and tree */
    const struct jinja_library *library;
    struct jinja_node *body;
    const struct jinja_string *caller; /* names that the interpreter sets itself */
    const struct jinja_string *loop;
    const struct jinja_string *varargs;
    const struct jinja_string *kwargs;
};

#endif
