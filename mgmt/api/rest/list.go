package rest

import (
	"math"
	"reflect"
	"slices"
)

// List is a response with several items. Use NewList or ListOf to make one. After the
// handler, the kit selects the requested items (limit, offset, filters), and builds only
// those.
type List[T any] struct {
	Description string `json:"description"`
	Params      []T    `json:"params"`
	Total       *int   `json:"total,omitempty" doc:"Total number of matches, if limit or offset was sent"`

	n       int
	item    func(int) T
	applied []string // filters that the handler has applied

	in     *Kept // nil: not cached
	moment any
	body   []byte // encoded, if known
}

// NewList returns a response with items. Without items it is an empty list, not null.
func NewList[T any](description string, items []T) List[T] {
	return List[T]{Description: description, Params: orEmpty(items)}
}

// ListOf returns a response with n items, which are built on demand.
func ListOf[T any](description string, n int, item func(int) T) List[T] {
	return List[T]{Description: description, n: n, item: item}
}

// Applied declares filters that the handler has applied already, e.g. because it can do so
// without building the items.
func (l List[T]) Applied(filters ...string) List[T] {
	l.applied = filters
	return l
}

func orEmpty[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// lister is a response that is or contains a list.
type lister interface {
	of() reflect.Type
	pick(c *Call) error
}

// of returns the type of the items.
func (l *List[T]) of() reflect.Type { return reflect.TypeFor[T]() }

// pick builds the requested items.
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
	wanted := slices.DeleteFunc(c.wanted(), func(f filter) bool { return slices.Contains(l.applied, f.name) })
	l.Params, l.Total, err = pick(c, l.n, l.item, wanted)
	return err
}

// maxLimit is the maximum of limit. Without limit, all items are returned.
const maxLimit = 10_000

// Pick selects items from n: at most limit of the items that match the filters, from offset.
// The result total is the number of matches, or nil if neither limit nor offset was sent.
// List includes this; Pick is for other responses.
func Pick[T any](c *Call, n int, item func(int) T) (items []T, total *int, err error) {
	return pick(c, n, item, c.wanted())
}

func pick[T any](c *Call, n int, item func(int) T, wanted []filter) (items []T, total *int, err error) {
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
	if len(wanted) > 0 {
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

// choose builds all items, returns the matches from position from to to, and counts all
// matches.
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

// Pages declares that the response is a list of that item type with pages and filters, made
// by Pick. Operations that return a List already have this.
func (o *Operation) Pages(item reflect.Type) *Operation {
	o.paged = true
	return o.Filters(item).With("limit", "Maximum number of entries, 1 to 10000; defaults to all").
		With("offset", "Number of entries to skip")
}

// Filters declares the item type of the response, whose fields are filters.
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

// CutsItself is for a list that its source already limits, so paging would be pointless.
// The handler applies the filters.
func (o *Operation) CutsItself() *Operation {
	o.paged = false
	o.queries = slices.DeleteFunc(o.queries, func(q query) bool { return q.name == "limit" || q.name == "offset" })
	return o
}

// filter is a field and the value to match.
type filter struct{ name, want string }

// wanted returns the filters of the query.
func (c *Call) wanted() (out []filter) {
	for _, name := range c.op.filters {
		if want := c.Query(name); want != "" {
			out = append(out, filter{name, want})
		}
	}
	return out
}
