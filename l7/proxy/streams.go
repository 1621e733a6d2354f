package proxy

// streams are the clients of a multiplex, in the order they came.
type streams struct {
	head, tail *client
	count      int
}

func (l *streams) first() *client { return l.head }

func (l *streams) after(cl *client) *client { return cl.stream.next }

func (l *streams) add(cl *client) {
	cl.stream.prev, cl.stream.next = l.tail, nil
	if l.tail != nil {
		l.tail.stream.next = cl
	} else {
		l.head = cl
	}
	l.tail = cl
	l.count++
}

func (l *streams) remove(cl *client) {
	st := cl.stream
	if st.prev != nil {
		st.prev.stream.next = st.next
	} else {
		l.head = st.next
	}
	if st.next != nil {
		st.next.stream.prev = st.prev
	} else {
		l.tail = st.prev
	}
	l.count--
}
