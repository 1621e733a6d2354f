package proxy

// withServedBy adds who served the request to the lines an answer gets beside
// its own, and keeps what the backend says of it from being passed on: the
// field tells one thing, whoever else may write it.
func (ex *exchange) withServedBy(add []byte) []byte {
	name := ex.service.ServedBy
	if name == "" {
		return add
	}
	h := &ex.w.resp.Head
	for i := h.Lookup(name); i >= 0; i = h.Lookup(name) {
		if !h.Remove(i) {
			break
		}
	}
	return ex.w.join(add, ex.backend.ServedBy)
}

// join gives lines followed by more. The result is good until the next call on
// the loop, which may be given it.
func (w *worker) join(lines, more []byte) []byte {
	switch {
	case len(more) == 0:
		return lines
	case len(lines) == 0:
		return more
	}
	w.extra = append(append(w.extra[:0], lines...), more...)
	return w.extra
}
