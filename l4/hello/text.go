package hello

// text is the unread rest of a message.
type text []byte

func (t *text) skip(n int) bool {
	if len(*t) < n {
		return false
	}
	*t = (*t)[n:]
	return true
}

// number reads a big-endian number of 1 or 2 bytes.
func (t *text) number(size int) (n int, ok bool) {
	if len(*t) < size {
		return 0, false
	}
	for _, b := range (*t)[:size] {
		n = n<<8 | int(b)
	}
	*t = (*t)[size:]
	return n, true
}

// list reads bytes behind their length, which is a number of size bytes.
func (t *text) list(size int) (text, bool) {
	n, ok := t.number(size)
	if !ok || len(*t) < n {
		return nil, false
	}
	out := (*t)[:n]
	*t = (*t)[n:]
	return out, true
}

func (t *text) skipList(size int) bool {
	_, ok := t.list(size)
	return ok
}
