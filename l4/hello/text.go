package hello

// text is what is left of bytes that are read from the front.
type text []byte

func (t *text) skip(n int) bool {
	if len(*t) < n {
		return false
	}
	*t = (*t)[n:]
	return true
}

// number takes a number of 1 or 2 bytes.
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

// list takes bytes with their length, a number of that size, in front.
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
