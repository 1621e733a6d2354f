package rest

import (
	"math"
	"reflect"
	"slices"
)

// List is an answer that holds several things; make it with NewList or ListOf. Who
// asks may want some of them only (limit, offset, and filters by field): the kit
// picks these after the handler, and items nobody wants are not made.
type List[T any] struct {
	Description string `json:"description"`
	Params      []T    `json:"params"`
	Total       *int   `json:"total,omitempty" doc:"Where limit or offset was sent: how many there are that match"`

	n    int
	item func(int) T

	in     *Kept // nil: not kept
	moment any
	body   []byte // as it is sent, where that is known
}

// NewList is an answer that holds items; none at all are an empty list, not null.
func NewList[T any](description string, items []T) List[T] {
	return List[T]{Description: description, Params: orEmpty(items)}
}

// ListOf is an answer that holds n items, which are made when they are wanted.
func ListOf[T any](description string, n int, item func(int) T) List[T] {
	return List[T]{Description: description, n: n, item: item}
}

func orEmpty[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// lister is an answer that is a list, or has one in it.
type lister interface {
	of() reflect.Type
	pick(c *Call) error
}

// of is the type of the items.
func (l *List[T]) of() reflect.Type { return reflect.TypeFor[T]() }

// pick makes the items the caller wants.
func (l *List[T]) pick(c *Call) error {
	if is, err := l.pickKept(c); is {
		return err
	}
	return l.make(c)
}

func (l *List[T]) make(c *Call) (err error) {
	if l.item == nil {
		all := l.Params
		l.n, l.item = len(all), func(i int) T { return all[i] }
	}
	l.Params, l.Total, err = Pick(c, l.n, l.item)
	return err
}

// maxLimit is the most a client may ask for at once; all of it without limit.
const maxLimit = 10_000

// Pick makes those of n items that the caller wants: what matches the filters, from
// offset on, at most limit. total is how many match, nil when neither limit nor
// offset was sent. List does this by itself; Pick is for answers that are no List.
func Pick[T any](c *Call, n int, item func(int) T) (items []T, total *int, err error) {
	limit, err := c.Number("limit", math.MaxInt32, 1, maxLimit)
	if err != nil {
		return nil, nil, err
	}
	offset, err := c.Number("offset", 0, 0, math.MaxInt32)
	if err != nil {
		return nil, nil, err
	}
	from, to := int(offset), int(offset+limit)
	matching := n
	if wanted := c.wanted(); len(wanted) > 0 {
		items, matching = choose(n, item, wanted, from, to)
	} else {
		items = make([]T, 0, max(0, min(n, to)-from))
		for i := from; i < min(n, to); i++ {
			items = append(items, item(i))
		}
	}
	if c.Query("limit") != "" || c.Query("offset") != "" {
		total = &matching
	}
	return items, total, nil
}

// choose makes every item, keeps those that match from one on to another, and counts
// all that match.
func choose[T any](n int, item func(int) T, wanted []filter, from, to int) (items []T, matching int) {
	items = []T{}
	for i := range n {
		one := item(i)
		if !matches(reflect.ValueOf(one), wanted) {
			continue
		}
		if matching >= from && matching < to {
			items = append(items, one)
		}
		matching++
	}
	return items, matching
}

// Pages says that the answer is a list of items of a type in parts and by field,
// through Pick. Operations that answer with a List have it already.
func (o *Operation) Pages(item reflect.Type) *Operation {
	o.paged = true
	return o.Filters(item).With("limit", "How many to list at most, 1 to 10000; all when not sent").
		With("offset", "How many to leave out at the beginning")
}

// Filters says that the answer has items of a type, of which the fields that they show
// select some.
func (o *Operation) Filters(item reflect.Type) *Operation {
	for _, f := range fieldsOf(item) {
		if slices.Contains(o.filters, f.name) {
			continue
		}
		if o.filters = append(o.filters, f.name); !o.knows(f.name) {
			o.queries = append(o.queries, query{f.name, f.about()})
		}
	}
	return o
}

// CutsItself is for a list that is cut where it comes from: the API has not more of
// it than it shows. Its handler looks at the filters.
func (o *Operation) CutsItself() *Operation {
	o.paged = false
	o.queries = slices.DeleteFunc(o.queries, func(q query) bool { return q.name == "limit" || q.name == "offset" })
	return o
}

// filter is a field of items, and what it must be.
type filter struct{ name, want string }

// wanted are the filters of the query.
func (c *Call) wanted() (out []filter) {
	for _, name := range c.op.filters {
		if want := c.Query(name); want != "" {
			out = append(out, filter{name, want})
		}
	}
	return out
}
