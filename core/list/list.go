// Package list is a doubly linked list whose links lie in its elements: to put one
// in and to take it out costs neither an allocation nor a search.
package list

// List is a list of values of T. Its zero value is empty.
type List[T any] struct {
	first, last *Links[T]
	n           int
}

// Links is the place of a value in one list; it lies in the value. Its zero value
// is in none.
type Links[T any] struct {
	next, prev *Links[T]
	of         *T // nil while it is in no list
}

// Len is how many there are.
func (l *List[T]) Len() int { return l.n }

// First is the first one; nil when there is none.
func (l *List[T]) First() *T { return l.first.value() }

// PushBack puts v at the end; at is its place.
func (l *List[T]) PushBack(at *Links[T], v *T) { l.insert(at, v, l.last, nil) }

// PushFront puts v at the front; at is its place.
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

// Remove takes out the value whose place at is, which must be in this list.
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

// Next is the value behind this one; nil at the end.
func (l *Links[T]) Next() *T { return l.next.value() }

// Listed reports whether the value is in a list.
func (l *Links[T]) Listed() bool { return l.of != nil }

func (l *Links[T]) value() *T {
	if l == nil {
		return nil
	}
	return l.of
}
