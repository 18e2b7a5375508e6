/* Links go in, come out, and know when they are alone. */
#include "base/list.h"
#include "unit.h"

struct item {
    struct list link; /* of the list in the test */
    int number;
};

/* The numbers in the list of @head as decimal digits. */
static int digits(struct list *head)
{
    struct list *link;
    int all = 0;

    list_for_each (link, head) {
        all = all * 10 + container_of(link, struct item, link)->number;
    }
    return all;
}

START_TEST(append_and_insert_order)
{
    struct list head = LIST_INIT(head);
    struct item items[] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };

    list_append(&head, &items[1].link);
    list_append(&head, &items[2].link);
    list_insert(&head, &items[0].link);

    ck_assert_int_eq(digits(&head), 123);
    ck_assert_ptr_eq(list_first(&head), &items[0].link);
}
END_TEST

START_TEST(removed_link_is_in_no_list_and_may_be_removed_again)
{
    struct list head = LIST_INIT(head);
    struct item item = { .number = 1 };

    list_append(&head, &item.link);
    list_remove(&item.link);
    list_remove(&item.link);

    ck_assert(list_is_empty(&head));
    ck_assert(list_is_empty(&item.link));
    ck_assert_ptr_null(list_first(&head));
}
END_TEST

START_TEST(safe_walk_may_remove_where_it_stands)
{
    struct list head = LIST_INIT(head);
    struct item items[] = { { .number = 1 }, { .number = 2 }, { .number = 3 }, { .number = 4 } };
    struct list *link;
    struct list *after;

    for (size_t i = 0; i < COUNTOF(items); i++) {
        list_append(&head, &items[i].link);
    }
    list_for_each_safe (link, after, &head) {
        if (container_of(link, struct item, link)->number % 2 == 0) {
            list_remove(link);
        }
    }

    ck_assert_int_eq(digits(&head), 13);
}
END_TEST

int main(void)
{
    return unit_facts("list", append_and_insert_order, removed_link_is_in_no_list_and_may_be_removed_again,
                      safe_walk_may_remove_where_it_stands);
}
