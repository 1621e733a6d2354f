package compress

// Encoder encodes consecutive bodies. Output may be delayed until Flush or Close.
type Encoder struct {
	library library
	out     output
	coding  Coding
	level   Level
	dirty   bool // there is output to flush
	busy    bool // a library call is running or panicked
}

// output collects the output of a library.
type output struct{ b []byte }

func (o *output) Write(p []byte) (int, error) {
	o.b = append(o.b, p...)
	return len(p), nil
}

// Holds reports whether Flush may return output.
func (e *Encoder) Holds() bool { return e.dirty }

// Coding returns the coding of the encoder.
func (e *Encoder) Coding() Coding { return e.coding }

// Turn returns the maximum number of bytes to write per loop turn.
func (e *Encoder) Turn() int { return variants[e.coding][e.level].turn }

// Write encodes p and appends the available output to dst. Errors are final; only a fault in
// a library can cause them.
func (e *Encoder) Write(dst, p []byte) ([]byte, error) {
	if len(p) == 0 {
		return dst, nil
	}
	e.begin(dst)
	_, err := e.library.Write(p)
	e.dirty = true
	return e.end(), err
}

// Flush appends the delayed output, if any, so that all input so far can be decoded.
func (e *Encoder) Flush(dst []byte) ([]byte, error) {
	if !e.dirty {
		return dst, nil
	}
	e.begin(dst)
	err := e.library.Flush()
	e.dirty = false
	return e.end(), err
}

// Close appends the delayed output and the end of the body.
func (e *Encoder) Close(dst []byte) ([]byte, error) {
	e.begin(dst)
	err := e.library.Close()
	return e.end(), err
}

func (e *Encoder) begin(dst []byte) { e.out.b, e.busy = dst, true }

func (e *Encoder) end() (dst []byte) {
	dst = e.out.b
	e.out.b, e.busy = nil, false
	return dst
}
