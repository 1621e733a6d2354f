// Package list provides an intrusive doubly linked list: its links lie in the elements,
// so insertion and removal need neither allocation nor search.
package list

// List is a list of values of T. The zero value is empty.
type List[T any] struct {
	first, last *Links[T]
	n           int
}

// Links is the position of a value in one list and lies in the value. The zero value is
// in no list.
type Links[T any] struct {
	next, prev *Links[T]
	of         *T // nil while not in a list
}

// Len returns the number of values.
func (l *List[T]) Len() int { return l.n }

// First returns the first value, or nil.
func (l *List[T]) First() *T { return l.first.value() }

// PushBack appends v; at must lie in v.
func (l *List[T]) PushBack(at *Links[T], v *T) { l.insert(at, v, l.last, nil) }

// PushFront prepends v; at must lie in v.
func (l *List[T]) PushFront(at *Links[T], v *T) { l.insert(at, v, nil, l.first) }

func (l *List[T]) insert(at *Links[T], v *T, prev, next *Links[T]) {
	*at = Links[T]{next: next, prev: prev, of: v}
	if prev != nil {
		prev.next = at
	} else {
		l.first = at
	}
	if next != nil {
		next.prev = at
	} else {
		l.last = at
	}
	l.n++
}

// Remove removes the value with the links at, which must be in this list.
func (l *List[T]) Remove(at *Links[T]) {
	if at.prev != nil {
		at.prev.next = at.next
	} else {
		l.first = at.next
	}
	if at.next != nil {
		at.next.prev = at.prev
	} else {
		l.last = at.prev
	}
	*at = Links[T]{}
	l.n--
}

// Next returns the next value, or nil at the end.
func (l *Links[T]) Next() *T { return l.next.value() }

// Listed reports whether the value is in a list.
func (l *Links[T]) Listed() bool { return l.of != nil }

func (l *Links[T]) value() *T {
	if l == nil {
		return nil
	}
	return l.of
}
